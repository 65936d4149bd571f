package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// MaxFailureAge is how long a failed migration is reported. It covers several rounds, because the
// balancer retries a migration that cannot succeed in every round.
const MaxFailureAge = 10 * time.Minute

// OutcomesSince counts the outcomes of the migrations since a time, successes first
// (rules/03-helpers-examples-traps §6.1, rows 12 and 13). A Snapshot with counts in place of the change
// log has counts since one fixed time only; OutcomesSince returns those.
func OutcomesSince(s *catalog.Snapshot, since time.Time) []catalog.MigrationOutcome {
	if of := s.Parts().Outcomes; of != nil {
		return of.Counts
	}
	counts := map[catalog.MigrationOutcome]int64{}
	for _, entry := range s.Parts().Changes {
		if !entry.Time.After(since) {
			continue
		}
		if m, ended := entry.Migration(); ended {
			counts[outcomeKey(m)]++
		}
	}
	var list []catalog.MigrationOutcome
	for of, n := range counts {
		of.Count = n
		list = append(list, of)
	}
	slices.SortFunc(list, func(a, b catalog.MigrationOutcome) int {
		return cmp.Or(strings.Compare(string(a.From), string(b.From)), strings.Compare(string(a.To), string(b.To)),
			strings.Compare(a.Error, b.Error))
	})
	return list
}

// outcomeKey returns the key under which ended migrations are counted together.
func outcomeKey(m catalog.EndedMigration) catalog.MigrationOutcome {
	if m.Error == "" {
		return catalog.MigrationOutcome{}
	}
	return catalog.MigrationOutcome{Error: m.Error, From: m.From, To: m.To}
}

// migrationFindings returns findings about failed and running migrations.
func (d *Diagnosis) migrationFindings() (list []Finding) {
	since := d.Time().Add(-MaxFailureAge)
	for _, o := range OutcomesSince(d.Snapshot, since) {
		if o.Error == "" {
			continue
		}
		f := finding(MigrationsFailing, Scope{Shard: o.From, To: o.To},
			fmt.Sprintf("migrations from %s to %s failed in the last %d minutes: %s, %s",
				o.From, o.To, int(MaxFailureAge.Minutes()), o.Error, humanize.Times(o.Count)))
		f.Numbers = countNumbers("failed", o.Count)
		f.Since = failingSince(d.Snapshot, o)
		list = append(list, f)
	}
	for _, m := range d.Parts().Migrations {
		list = append(list, MigrationFinding(d.Snapshot, m))
	}
	for _, r := range d.Parts().Reshardings {
		list = append(list, ReshardingFinding(d.Snapshot, r))
	}
	return list
}

// MigrationFinding returns a finding about a running migration.
func MigrationFinding(s *catalog.Snapshot, m catalog.ActiveMigration) Finding {
	sentence := "a chunk of " + m.Namespace + " is being moved"
	if m.From != "" {
		sentence += fmt.Sprintf(" from %s to %s", m.From, m.To)
	}
	f := finding(MigrationUnderWay, Scope{Namespace: m.Namespace, Shard: m.From, To: m.To}, sentence)
	f.Since = m.Since
	f.Numbers = migrationBytes(s, m)
	return f
}

// failingSince returns when the migrations between two shards began to fail in this way, without a
// success since. It returns the zero time where only counts are known.
func failingSince(s *catalog.Snapshot, of catalog.MigrationOutcome) (since time.Time) {
	for _, entry := range slices.Backward(s.Parts().Changes) {
		m, ended := entry.Migration()
		switch {
		case !ended || m.From != of.From || m.To != of.To:
		case m.Error == "":
			return since
		case m.Error == of.Error:
			since = entry.Time
		}
	}
	return since
}

// migrationBytes returns the size of a migration's range, if it is a chunk
// that was measured.
func migrationBytes(s *catalog.Snapshot, m catalog.ActiveMigration) []Number {
	c := s.Collection(m.Namespace)
	if c == nil || c.Pattern.IsZero() || len(m.Min) == 0 {
		return nil
	}
	lower, err := c.Pattern.ParseKey(m.Min)
	if err != nil {
		return nil
	}
	for _, size := range c.ChunkSizes {
		if size.Min.Equal(lower) {
			return []Number{{"bytes", size.Bytes, Bytes}}
		}
	}
	return nil
}

// abortHelpers maps operations on a whole collection to the helpers that abort them.
var abortHelpers = map[string]string{
	"reshardCollection": "sh.abortReshardCollection", "moveCollection": "sh.abortMoveCollection",
	"unshardCollection": "sh.abortUnshardCollection",
}

// ReshardingOf returns the running resharding, moving or unsharding of a collection, and reports
// whether there is one.
func ReshardingOf(s *catalog.Snapshot, ns string) (catalog.ActiveResharding, bool) {
	list := s.Parts().Reshardings
	i := slices.IndexFunc(list, func(r catalog.ActiveResharding) bool { return r.Namespace == ns })
	if i < 0 {
		return catalog.ActiveResharding{}, false
	}
	return list[i], true
}

// ReshardingFinding returns a finding about a running resharding, moving or unsharding.
func ReshardingFinding(s *catalog.Snapshot, r catalog.ActiveResharding) Finding {
	sentence := fmt.Sprintf("%s of %s is in progress", r.Kind, r.Namespace)
	if r.State != "" {
		sentence += " (" + r.State + ")"
	}
	if r.TotalBytes > 0 {
		sentence += fmt.Sprintf(", %s of %s copied", humanize.Bytes(r.CopiedBytes), humanize.Bytes(r.TotalBytes))
	}
	f := finding(Resharding, Scope{Namespace: r.Namespace}, sentence)
	if abort, known := abortHelpers[r.Kind]; known {
		f.InsteadOfWaiting = []string{fmt.Sprintf("%s(%q)", abort, r.Namespace)}
	}
	f.Since = r.Since
	if r.TotalBytes > 0 {
		f.Numbers = append(f.Numbers, Number{"copied", r.CopiedBytes, Bytes}, Number{"total", r.TotalBytes, Bytes})
	}
	if r.Remaining > 0 {
		f.Numbers = append(f.Numbers, Number{"remaining", int64(r.Remaining.Seconds()), Seconds})
		f.BalancerActsAt = s.Time().Add(r.Remaining)
	}
	return f
}
