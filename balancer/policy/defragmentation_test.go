package policy

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// defragmenting is a collection whose small chunks have up to small bytes, a
// multiple of 25. The shards are those that own chunks, in ascending order.
func defragmenting(t *testing.T, small int64, chunks []tuple) Situation {
	t.Helper()
	s := Situation{Namespace: "db.c", Table: table(t, chunks), Zones: catalog.NewZoneSet(pattern(t))}
	s.Sizes.ByShard = map[catalog.ShardID]int64{}
	s.Sizes.MaxChunkSizeBytes = 4 * small
	for _, id := range s.Table.Owners() {
		s.Shards = append(s.Shards, catalog.Shard{ID: id})
	}
	return s
}

func (s Situation) withSizes(sizes map[catalog.ShardID]int64) Situation {
	s.Sizes.ByShard = sizes
	return s
}

// shown is an action or a migration in the notation of rules/02-examples-and-traps §9.3.
func shown(what any) string {
	switch a := what.(type) {
	case StreamAction:
		return fmt.Sprintf("%s [%s, %s] %s", a.Kind, show(a.Min), show(a.Max), a.Shard)
	case Migration:
		return fmt.Sprintf("move [%s, %s] %s to %s", show(a.Min), show(a.Max), a.From, a.To)
	}
	return fmt.Sprint(what)
}

// allActions empties a phase.
func allActions(p Phase) (list []string) {
	for {
		a, ok := p.NextAction()
		if !ok {
			return list
		}
		list = append(list, shown(a))
	}
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantAction(t *testing.T, p Phase, text string) StreamAction {
	t.Helper()
	a, ok := p.NextAction()
	if !ok {
		t.Fatalf("no action, want %s", text)
	}
	want(t, "action", shown(a), text)
	return a
}

func wantNoAction(t *testing.T, p Phase) {
	t.Helper()
	if a, ok := p.NextAction(); ok {
		t.Fatalf("unexpected action %s", shown(a))
	}
}

func wantMove(t *testing.T, p Phase, avail *AvailableShards, text string) Migration {
	t.Helper()
	m, ok := p.NextMigration(avail, scheduled)
	if !ok {
		t.Fatalf("no migration, want %s", text)
	}
	want(t, "migration", shown(m), text)
	return m
}

func wantNoMove(t *testing.T, p Phase, avail *AvailableShards) {
	t.Helper()
	if m, ok := p.NextMigration(avail, scheduled); ok {
		t.Fatalf("unexpected migration %s", shown(m))
	}
}

var scheduled = time.Unix(1_000_000, 0)

func serverError(code mongoerr.Code, text string) error { return mongoerr.New(code, "%s", text) }

// stale is StaleConfig of a shard; known says that the shard knows better.
func stale(known bool) error {
	err := mongoerr.New(mongoerr.StaleConfig, "stale")
	err.Extra = bson.D{{Key: "ns", Value: "db.c"}, {Key: "shardId", Value: "A"}}
	if known {
		err.Extra = append(err.Extra, bson.E{Key: "vWanted", Value: bson.D{}})
	}
	return err
}

// An empty chunk is measured like any other: its size of nothing is known.
func TestEmptyChunksAreMeasuredOnce(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 0}, {"B", 0, "Max", 0}})
	want(t, "first phase", NewPhase(PhaseMergeAndMeasure, s).IsComplete(), true)
	p := NewPhase(PhaseMoveAndMerge, s)
	want(t, "small chunks", p.Remaining(), 2)
}

// The user's abort is final, also when something under way fails after it.
func TestAbortByTheUser(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 10, 1}, {"B", 10, "Max", 100}})
	p := NewPhase(PhaseMoveAndMerge, s)
	m := wantMove(t, p, NewAvailableShards(s.Shards), "move [Min, 10] A to B")
	p.Abort(PhaseFinished)
	want(t, "complete", p.IsComplete(), false)
	p.RecordMigrationResult(m, serverError(mongoerr.ShardNotFound, "no"))
	want(t, "complete", p.IsComplete(), true)
	want(t, "next", p.NextPhase(), PhaseFinished)
}
