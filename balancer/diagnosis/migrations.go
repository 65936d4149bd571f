package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
)

// FailureSpan is how long a migration that failed is worth a finding: some
// rounds, as one that cannot succeed is tried again in every round.
const FailureSpan = 10 * time.Minute

// whatMigration is what the donor's entry about a migration is called in the
// change log.
const whatMigration = "moveChunk.from"

// OutcomesSince counts how the migrations after a moment ended, successes first
// (spec 03 §6.1, rows 12 and 13). A Snapshot with counts in place of the change
// log has one moment only, and answers for that.
func OutcomesSince(s *catalog.Snapshot, since time.Time) []catalog.Outcome {
	if of := s.Parts().Outcomes; of != nil {
		return of.Counts
	}
	counts := map[catalog.Outcome]int64{}
	for _, entry := range s.Parts().Changes {
		if entry.What == whatMigration && entry.Time.After(since) {
			counts[outcome(entry)]++
		}
	}
	var list []catalog.Outcome
	for of, n := range counts {
		of.Count = n
		list = append(list, of)
	}
	slices.SortFunc(list, func(a, b catalog.Outcome) int {
		return cmp.Or(strings.Compare(string(a.From), string(b.From)), strings.Compare(string(a.To), string(b.To)),
			strings.Compare(a.Error, b.Error))
	})
	return list
}

// outcome reads the donor's entry. A migration that succeeded says so and names
// no error.
func outcome(entry catalog.LogEntry) catalog.Outcome {
	text := func(name string) string {
		text, _ := entry.Detail(name).StringValueOK()
		return text
	}
	if entry.Detail("errmsg").Type == 0 && text("note") == "success" {
		return catalog.Outcome{}
	}
	return catalog.Outcome{
		Error: orElse(text("errmsg"), "aborted"),
		From:  catalog.ShardID(text("from")), To: catalog.ShardID(text("to")),
	}
}

// migrations finds what failed and what is under way.
func (d *Diagnosis) migrations() (list []Finding) {
	for _, o := range OutcomesSince(d.Snapshot, d.Time().Add(-FailureSpan)) {
		if o.Error == "" {
			continue
		}
		f := finding(MigrationsFailing, Scope{Shard: o.From, To: o.To},
			fmt.Sprintf("migrations from %s to %s failed in the last %d minutes: %s, %s",
				o.From, o.To, int(FailureSpan.Minutes()), o.Error, timesText(o.Count)))
		f.Numbers = numbered("failed", o.Count)
		list = append(list, f)
	}
	for _, m := range d.Parts().Migrations {
		sentence := "a chunk of " + m.Namespace + " is being moved"
		if m.From != "" {
			sentence += fmt.Sprintf(" from %s to %s", m.From, m.To)
		}
		f := finding(MigrationUnderWay, Scope{Namespace: m.Namespace, Shard: m.From, To: m.To}, sentence)
		f.Since = m.Since
		list = append(list, f)
	}
	for _, r := range d.Parts().Reshardings {
		list = append(list, ofResharding(r))
	}
	return list
}

func ofResharding(r catalog.ActiveResharding) Finding {
	sentence := fmt.Sprintf("%s of %s is under way", r.Kind, r.Namespace)
	if r.State != "" {
		sentence += " (" + r.State + ")"
	}
	f := finding(Resharding, Scope{Namespace: r.Namespace}, sentence)
	f.Since = r.Since
	if r.TotalBytes > 0 {
		f.Numbers = append(f.Numbers, Number{"copied", r.CopiedBytes, Bytes}, Number{"total", r.TotalBytes, Bytes})
	}
	if r.Remaining > 0 {
		f.Numbers = append(f.Numbers, Number{"remaining", int64(r.Remaining.Seconds()), Seconds})
	}
	return f
}
