package trace

import (
	"fmt"
	"slices"

	"shardsh/balancer/policy"
)

// CheckMigrations checks M1, M2 and M4 to M6: a shard takes part in one migration at a time, nothing is
// cloned into a range with a pending deletion, each commit has a later time than all earlier ones and
// sets the right versions, and the owner of a range changes only by a commit.
func CheckMigrations(t Trace) []Violation {
	m := &migrationChecker{
		catalog: newCatalog(), byDonor: map[string]Event{}, byRecipient: map[string]Event{},
		pendingDeletions: map[string][]Event{}, started: map[migration]int{},
	}
	for i := 0; i < len(t); i++ {
		e := t[i]
		if e.Kind != Catalog {
			m.apply(e)
			continue
		}
		batch := i
		for batch < len(t) && t[batch].Kind == Catalog && t[batch].Op == e.Op {
			batch++
		}
		m.checkCommits(t[i:batch], t[batch:])
		i = batch - 1
	}
	return m.found
}

type migrationChecker struct {
	catalog          *catalog
	found            []Violation
	byDonor          map[string]Event   // by donor, the migration
	byRecipient      map[string]Event   // by recipient, the migration
	pendingDeletions map[string][]Event // range deletions by shard
	started          map[migration]int  // event number by migration without bounds
}

func (m *migrationChecker) fail(rule string, events []int, format string, args ...any) {
	m.found = append(m.found, Violation{rule, fmt.Sprintf(format, args...), events})
}

func (m *migrationChecker) apply(e Event) {
	switch e.Kind {
	case MigrationStart:
		m.started[migration{ns: e.NS, from: e.From, to: e.To}] = e.Seq
	case "migration.clone":
		m.begin(e)
	case MigrationCommitted:
		m.end(m.byRecipient, e.To, e)
	case MigrationDone, MigrationFailed:
		m.end(m.byDonor, e.From, e)
		m.end(m.byRecipient, e.To, e)
	case RangeRegistered:
		m.pendingDeletions[e.Node] = append(m.pendingDeletions[e.Node], e)
	case RangeDone:
		m.pendingDeletions[e.Node] = slices.DeleteFunc(m.pendingDeletions[e.Node],
			func(o Event) bool { return sameRange(o, e) })
	}
}

func sameRange(a, b Event) bool {
	amin, amax := a.Range()
	bmin, bmax := b.Range()
	return a.NS == b.NS && amin == bmin && amax == bmax
}

func (m *migrationChecker) end(of map[string]Event, shard string, e Event) {
	if other := of[shard]; other.NS == e.NS && other.From == e.From && other.To == e.To {
		delete(of, shard)
	}
}

func (m *migrationChecker) begin(e Event) {
	for _, at := range []struct {
		shard string
		of    map[string]Event
	}{{e.From, m.byDonor}, {e.From, m.byRecipient}, {e.To, m.byDonor}, {e.To, m.byRecipient}} {
		if other, busy := at.of[at.shard]; busy {
			m.fail("M1", []int{other.Seq, e.Seq}, "%s takes part in a migration of %s and in one of %s",
				at.shard, other.NS, e.NS)
		}
	}
	m.byDonor[e.From], m.byRecipient[e.To] = e, e
	min, max := e.Range()
	began := m.started[migration{ns: e.NS, from: e.From, to: e.To}]
	for _, task := range m.pendingDeletions[e.To] { // a newer task is the migration's own, for the case that it fails
		if a, b := task.Range(); task.NS == e.NS && task.Seq < began && a < max && min < b {
			m.fail("M2", []int{task.Seq, e.Seq}, "%s: [%s, %s) is cloned to %s, which is to delete [%s, %s) first",
				e.NS, min, max, e.To, a, b)
		}
	}
}

// checkCommits checks the catalog changes of one transaction. after holds the events after them.
func (m *migrationChecker) checkCommits(batch, after Trace) {
	before := map[string][]Chunk{}
	for _, e := range batch {
		if e.Entry == nil && before[e.NS] == nil {
			before[e.NS] = m.catalog.sortedChunks(e.NS)
		}
	}
	for _, e := range batch {
		m.catalog.apply(e)
	}
	for _, e := range batch {
		if e.After == nil || len(before[e.NS]) == 0 {
			continue
		}
		was := ownerOf(before[e.NS], e.After.Min)
		if was.Shard == e.After.Shard || was.Epoch != e.After.Epoch {
			continue
		}
		m.checkMove(e, was, before[e.NS], after)
	}
}

func ownerOf(chunks []Chunk, at Bound) Chunk {
	i := slices.IndexFunc(chunks, func(c Chunk) bool { return c.Min <= at && at < c.Max })
	if i < 0 {
		return Chunk{}
	}
	return chunks[i]
}

func (m *migrationChecker) checkMove(e Event, previous Chunk, before []Chunk, after Trace) {
	events := []int{e.Seq}
	committed := func(o Event) bool {
		return o.Kind == MigrationCommitted && o.NS == e.NS && o.From == previous.Shard &&
			o.To == e.After.Shard && o.Micros == e.Micros
	}
	if !slices.ContainsFunc(after, committed) {
		m.fail("M6", events, "%s: %s was on %s, and no migration has committed", e.NS, e.After, previous.Shard)
	}
	var newest uint32
	var latest uint64
	for _, c := range before {
		newest, latest = max(newest, c.Major), max(latest, c.Since)
	}
	if e.After.Since != 0 && e.After.Since <= latest {
		m.fail("M4", events, "%s: %s was moved at %d, and another chunk at %d", e.NS, e.After, e.After.Since, latest)
	}
	if e.After.Major != newest+1 {
		m.fail("M5", events, "%s: %s was moved when the collection was at %d", e.NS, e.After, newest)
	}
	var donor uint32
	for _, c := range m.catalog.chunks[e.NS] {
		if c.Shard == previous.Shard {
			donor = max(donor, c.Major)
		}
	}
	if donor != 0 && donor != newest+1 {
		m.fail("M5", events, "%s: the donor %s stays at %d, and the recipient is at %d",
			e.NS, previous.Shard, donor, e.After.Major)
	}
}

// isMerge reports whether the event is part of a merge.
func (e Event) isMerge() bool {
	switch {
	case e.Entry != nil || e.Before == nil:
		return false
	case e.After == nil:
		return true
	}
	return e.After.Shard == e.Before.Shard && e.After.Min == e.Before.Min && e.After.Max > e.Before.Max
}

// isOfSessionsCollection reports whether the event is of the collection that the config server itself shards.
func (e Event) isOfSessionsCollection() bool {
	return e.NS == policy.SessionsNamespace || e.Entry != nil && e.Entry.ID == policy.SessionsNamespace
}

// CheckFailedCommands checks S10: a failed command has changed nothing. It only checks commands during
// which no other command was running.
func CheckFailedCommands(t Trace) (found []Violation) {
	alone, changed := Event{}, 0
	open := map[int]bool{}
	for _, e := range t {
		switch e.Kind {
		case CmdBegin:
			open[e.Op] = true
			alone, changed = Event{}, 0
			if len(open) == 1 && changeCommands[e.Cmd] {
				alone = e
			}
		case CmdEnd:
			delete(open, e.Op)
			if alone.Op == e.Op && alone.Op != 0 && e.Code != 0 && changed > 0 {
				found = append(found, Violation{
					"S10", fmt.Sprintf("%s of %s fails with %d and has changed something", e.Cmd, e.NS, e.Code),
					[]int{alone.Seq, changed, e.Seq},
				})
			}
			alone = Event{}
		case Catalog:
			if moveCommands[alone.Cmd] && e.isMerge() {
				continue // of the auto-merger, which has no event
			}
			if e.isOfSessionsCollection() && alone.NS != policy.SessionsNamespace {
				continue // the config server creates and splits it every five minutes
			}
			if e.Entry != nil || e.Before == nil || e.After == nil || !e.Before.sameOwner(*e.After) {
				changed = e.Seq // a rejected commit may increase the version of its chunk
			}
		case RoundBegin, MigrationStart, MigrationCommitted:
			if !changeCommands[alone.Cmd] || e.Kind == RoundBegin || e.By == "balancer" {
				alone = Event{}
			}
		}
	}
	return found
}
