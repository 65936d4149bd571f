package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// defragmenting is a collection whose small chunks have up to small bytes. The
// shards are those that own chunks, in ascending order.
func defragmenting(t *testing.T, small int64, chunks []tuple) Situation {
	t.Helper()
	s := Situation{Namespace: "db.c", Table: table(t, chunks), Zones: catalog.NewZoneSet(pattern(t))}
	s.Sizes.ByShard = map[catalog.ShardID]int64{}
	s.Sizes.MaxChunkSizeBytes = 4 * small
	if got := smallChunk(4 * small); got != small {
		t.Fatalf("the threshold of the scene is %d, want %d: choose a multiple of 25", got, small)
	}
	for _, id := range s.Table.Owners() {
		s.Shards = append(s.Shards, catalog.Shard{ID: id})
	}
	return s
}

func (s Situation) withSizes(sizes map[catalog.ShardID]int64) Situation {
	s.Sizes.ByShard = sizes
	return s
}

// shown is an action or a migration in the notation of spec 02 §9.3.
func shown(what any) string {
	switch a := what.(type) {
	case Action:
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

func wantAction(t *testing.T, p Phase, text string) Action {
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

func wantMove(t *testing.T, p Phase, avail *Available, text string) Migration {
	t.Helper()
	m, ok := p.NextMigration(avail, scheduled)
	if !ok {
		t.Fatalf("no migration, want %s", text)
	}
	want(t, "migration", shown(m), text)
	return m
}

func wantNoMove(t *testing.T, p Phase, avail *Available) {
	t.Helper()
	if m, ok := p.NextMigration(avail, scheduled); ok {
		t.Fatalf("unexpected migration %s", shown(m))
	}
}

var scheduled = time.Unix(1_000_000, 0)

func serverError(code mongoerr.Code, text string) error { return mongoerr.New(code, "%s", text) }

// staleKnown is StaleConfig of a shard that knows better.
func stale(known bool) error {
	err := mongoerr.New(mongoerr.StaleConfig, "stale")
	err.Extra = bson.D{{Key: "ns", Value: "db.c"}, {Key: "shardId", Value: "A"}}
	if known {
		err.Extra = append(err.Extra, bson.E{Key: "vWanted", Value: bson.D{}})
	}
	return err
}

func TestDF01Threshold(t *testing.T) {
	for chunkSize, small := range map[int64]int64{134217728: 33554425, 2097152: 524275, 1048576: 262125, 2048: 500} {
		want(t, fmt.Sprint("threshold of ", chunkSize), smallChunk(chunkSize), small)
	}
}

func TestDF02Phase1WorkItems(t *testing.T) {
	s := defragmenting(t, 25, []tuple{
		{"A", "Min", 1}, {"A", 1, 2}, {"A", 2, 3}, {"A", 3, 4}, {"A", 4, 5}, {"B", 5, 6},
		{"A", 6, 7}, {"A", 7, 8}, {"A", 8, 9}, {"A", 9, "Max"},
	})
	p := NewPhase(PhaseMergeAndMeasure, s)
	want(t, "remaining", p.Remaining(), 3)
	got := allActions(p)
	onA := slices.DeleteFunc(slices.Clone(got), func(a string) bool { return !strings.HasSuffix(a, " A") })
	want(t, "on A", strings.Join(onA, ", "), "merge [Min, 5] A, merge [6, Max] A")
	if !slices.Contains(got, "dataSize [5, 6] B") || len(got) != 3 {
		t.Errorf("got %v, want a measurement on B besides", got)
	}
}

func TestDF03MergeMeasurePersistAndLaterPhases(t *testing.T) {
	s := defragmenting(t, 33554425, []tuple{{"A", "Min", 10}, {"A", 10, "Max"}})
	p := NewPhase(PhaseMergeAndMeasure, s)
	merge := wantAction(t, p, "merge [Min, Max] A")
	want(t, "remaining", p.Remaining(), 1)
	p.ActionDone(merge, ActionResult{})
	want(t, "remaining after the merge", p.Remaining(), 1)
	measure := wantAction(t, p, "dataSize [Min, Max] A")
	want(t, "maxSize", measure.MaxBytes, 33554425)
	m := p.ActionDone(measure, ActionResult{Size: 2000})
	want(t, "est", m.Size, catalog.EstimateOf(2000))
	want(t, "complete", p.Complete(), true)
	want(t, "next", p.Next(), PhaseMoveAndMerge)

	s = defragmenting(t, 33554425, []tuple{{"A", "Min", "Max", 2000}})
	p = NewPhase(PhaseMoveAndMerge, s)
	wantNoAction(t, p)
	want(t, "remaining", p.Remaining(), 1) // not yet known to be hopeless
	want(t, "complete", p.Complete(), false)
	wantNoMove(t, p, NewAvailable(s.Shards)) // no siblings: discarded
	want(t, "complete", p.Complete(), true)
	want(t, "next", p.Next(), PhaseMerge)
	p = NewPhase(PhaseMerge, s)
	want(t, "last phase is complete", p.Complete(), true)
	want(t, "after it", p.Next(), PhaseFinished)
}

func TestDF04BigChunkNeedsNoSecondPhase(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", "Max"}})
	p := NewPhase(PhaseMergeAndMeasure, s)
	m := p.ActionDone(wantAction(t, p, "dataSize [Min, Max] A"), ActionResult{Size: 2000, MaxReached: true})
	want(t, "est", m.Size.Bytes(), int64(9223372036854775807))
	s.Table = tableOf(t, []catalog.Chunk{{Shard: "A", Min: key(t, "Min"), Max: key(t, "Max"), Estimate: m.Size}})
	want(t, "complete", NewPhase(PhaseMoveAndMerge, s).Complete(), true)
}

func TestDF05MeasureOrMerge(t *testing.T) {
	for _, c := range []struct {
		measures, merges int
		kind             ActionKind
	}{{1, 1, MergeRange}, {2, 1, MeasureRange}, {0, 1, MergeRange}, {1, 0, MeasureRange}} {
		w := shardRuns{shard: "A"}
		s := defragmenting(t, 25, []tuple{{"A", "Min", 10}, {"A", 10, "Max"}})
		for range c.measures {
			w.toMeasure = append(w.toMeasure, span{0, 1})
		}
		for range c.merges {
			w.toMerge = append(w.toMerge, span{0, 2})
		}
		p := &runsPhase{subject: newSubject(s), name: PhaseMergeAndMeasure, measures: true, shards: []shardRuns{w}}
		a, ok := p.NextAction()
		if !ok || a.Kind != c.kind {
			t.Errorf("W %d, R %d: got %v, want %v", c.measures, c.merges, a.Kind, c.kind)
		}
	}
}

func TestDF06Scoring(t *testing.T) {
	const big = catalog.TooBig
	for _, c := range []struct {
		size                  int64
		right                 catalog.ShardID
		rightSize             int64
		left                  catalog.ShardID
		leftSize              int64
		rightScore, leftScore int
		sizes                 map[catalog.ShardID]int64
		to                    string
	}{
		{10, "B", 20, "C", 5, 6, 0, nil, "right"},
		{10, "B", 40, "C", 20, 5, 6, nil, "left"},
		{10, "B", big, "A", 5, 5, 8, nil, "left"},
		{10, "B", 25, "C", 24, 5, 6, nil, "left"},
		{20, "B", 10, "C", 10, 2, 2, map[catalog.ShardID]int64{"B": 100, "C": 99}, "left"},
		{20, "B", 10, "C", 10, 2, 2, map[catalog.ShardID]int64{"B": 100, "C": 100}, "right"},
		{10, "B", 10, "C", 10, 0, 0, map[catalog.ShardID]int64{"B": 5, "C": 9}, "right"},
		{10, "A", 30, "A", 20, 9, 10, nil, "left"},
	} {
		s := defragmenting(t, 25, []tuple{
			{string(c.left), "Min", 10, int(c.leftSize)}, {"A", 10, 20, int(c.size)}, {string(c.right), 20, "Max", int(c.rightSize)},
		}).withSizes(c.sizes)
		p := newMovePhase(s)
		want(t, fmt.Sprintf("score of the right one in %+v", c), p.score(1, 2), c.rightScore)
		want(t, fmt.Sprintf("score of the left one in %+v", c), p.score(1, 0), c.leftScore)
		want(t, fmt.Sprintf("choice in %+v", c), p.recipient(1, []int32{2, 0}), map[string]int32{"right": 2, "left": 0}[c.to])
	}
}

func TestDF07FullestShardFirst(t *testing.T) {
	s := defragmenting(t, 33554425, []tuple{{"s0", "Min", 0, 2048}, {"s1", 0, "Max", 1024}}).
		withSizes(map[catalog.ShardID]int64{"s0": 4, "s1": 2})
	p := NewPhase(PhaseMoveAndMerge, s)
	avail := NewAvailable(s.Shards)
	m := wantMove(t, p, avail, "move [Min, 0] s0 to s1")
	want(t, "available after", avail.Len(), 0)
	wantNoAction(t, p)
	p.MigrationDone(m, nil)
	merge := wantAction(t, p, "merge [Min, Max] s1")
	avail = NewAvailable(s.Shards)
	wantNoMove(t, p, avail) // both chunks busy
	want(t, "available after", avail.Len(), 2)
	p.ActionDone(merge, ActionResult{})
	want(t, "est of the union", p.(*movePhase).chunks[1].size, 3072)
	want(t, "complete", p.Complete(), false)
	wantNoMove(t, p, avail)
	want(t, "complete", p.Complete(), true)
	want(t, "next", p.Next(), PhaseMerge)
}

func TestDF08TwoMovesInOneSelection(t *testing.T) {
	s := defragmenting(t, 25, []tuple{
		{"s0", "Min", 0, 1}, {"s1", 0, 10, 1}, {"s2", 10, 20, 1}, {"s3", 20, 30, 1}, {"s0", 30, 40, 1}, {"s1", 40, "Max", 1},
	}).withSizes(map[catalog.ShardID]int64{"s0": 1, "s1": 2, "s2": 3, "s3": 4})
	p := NewPhase(PhaseMoveAndMerge, s)
	avail := NewAvailable(s.Shards)
	wantMove(t, p, avail, "move [20, 30] s3 to s0")
	wantMove(t, p, avail, "move [10, 20] s2 to s1")
	wantNoMove(t, p, avail)
}

func TestDF09Bookkeeping(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"C", "Min", 5, 100}, {"A", 5, 8, 10}, {"B", 8, 20, 20}, {"C", 20, "Max", 100}}).
		withSizes(map[catalog.ShardID]int64{"A": 100, "B": 40})
	p := newMovePhase(s)
	m := wantMove(t, p, NewAvailable(s.Shards), "move [5, 8] A to B")
	p.MigrationDone(m, nil)
	want(t, "size of A", p.shards[0].size, 90)
	want(t, "size of B", p.shards[1].size, 50)
	p.ActionDone(wantAction(t, p, "merge [5, 20] B"), ActionResult{})
	sibling := p.chunks[2]
	want(t, "sibling", sibling.span, span{1, 3})
	want(t, "est", sibling.size, 30)
	want(t, "small chunks left", p.Remaining(), 0)
	want(t, "neighbour of what is left of it", p.chunks[0].next, 2)
}

func TestDF10Phase1Errors(t *testing.T) {
	for _, c := range []struct {
		kind  ActionKind
		err   error
		again bool
	}{
		{MeasureRange, serverError(mongoerr.NetworkTimeout, "timeout"), true},
		{MergeRange, stale(false), true},
		{MergeRange, stale(true), false},
		{MeasureRange, serverError(mongoerr.IllegalOperation, "no"), false},
		{MergeRange, serverError(mongoerr.ConflictingOperationInProgress, "busy"), false},
	} {
		chunks := []tuple{{"A", "Min", 10}, {"A", 10, "Max"}}
		if c.kind == MeasureRange {
			chunks = []tuple{{"A", "Min", "Max"}}
		}
		s := defragmenting(t, 25, chunks)
		p := NewPhase(PhaseMergeAndMeasure, s)
		a, _ := p.NextAction()
		want(t, "kind", a.Kind, c.kind)
		p.ActionDone(a, ActionResult{Err: c.err})
		if c.again {
			want(t, fmt.Sprint("after ", c.err), allActions(p)[0], shown(a))
			continue
		}
		want(t, fmt.Sprint("complete after ", c.err), p.Complete(), true)
		want(t, fmt.Sprint("next after ", c.err), p.Next(), PhaseMergeAndMeasure)
	}
}

func TestDF11AFailedPhaseWaits(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 10}, {"B", 10, "Max"}})
	p := NewPhase(PhaseMergeAndMeasure, s)
	a, b := wantAction(t, p, "dataSize [Min, 10] A"), wantAction(t, p, "dataSize [10, Max] B")
	p.ActionDone(a, ActionResult{Err: serverError(mongoerr.NamespaceNotFound, "gone")})
	wantNoAction(t, p)
	want(t, "complete", p.Complete(), false)
	p.ActionDone(b, ActionResult{Err: serverError(mongoerr.NetworkTimeout, "timeout")})
	want(t, "complete", p.Complete(), true)
	want(t, "next", p.Next(), PhaseMergeAndMeasure)
}

func TestDF12Phase2MigrationErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		then string
	}{
		{serverError(mongoerr.ChunkTooBig, "big"), "never again"},
		{serverError(mongoerr.ExceededMemoryLimit, "big"), "never again"},
		{serverError(mongoerr.ExceededTimeLimit, "slow"), "picked again"},
		{serverError(mongoerr.HostUnreachable, "gone"), "picked again"},
		{serverError(mongoerr.OperationFailed, "Data transfer error: ExceededTimeLimit: ..."), "avoids"},
		{serverError(mongoerr.OperationFailed, "something else"), "phase 1"},
		{serverError(mongoerr.ConflictingOperationInProgress, "busy"), "phase 1"},
		{serverError(mongoerr.ShardNotFound, "no shard"), "phase 1"},
	} {
		s := defragmenting(t, 25, []tuple{{"A", "Min", 10, 10}, {"B", 10, "Max", 100}})
		p := newMovePhase(s)
		m := wantMove(t, p, NewAvailable(s.Shards), "move [Min, 10] A to B")
		p.MigrationDone(m, c.err)
		got := "phase 1"
		switch again, ok := p.pick(0, NewAvailable(s.Shards), scheduled); {
		case p.aborted:
			want(t, "next", p.Next(), PhaseMergeAndMeasure)
		case p.left == 0:
			got = "never again"
		case p.chunks[0].failed != 0:
			// Postponed, and met again by the same scan: see DF-13's variant.
			got = "avoids"
		case ok && again == (pair{0, 1}):
			got = "picked again"
		}
		want(t, c.err.Error(), got, c.then)
	}
}

func TestDF13PendingRangeDeletion(t *testing.T) {
	s := defragmenting(t, 25, []tuple{
		{"B", "Min", 0, 100}, {"A", 0, 5, 3}, {"D", 5, 9, 100}, {"A", 9, 12, 7}, {"C", 12, "Max", 100},
	})
	for i, id := range []catalog.ShardID{"A", "B", "C", "D"} {
		s.Shards[i] = catalog.Shard{ID: id, Draining: id == "D"} // D is no sibling: one sibling each
	}
	p := newMovePhase(s)
	free := func(ids ...catalog.ShardID) *Available {
		a := NewAvailable(s.Shards)
		for _, shard := range s.Shards {
			if !slices.Contains(ids, shard.ID) {
				a.Take(shard.ID)
			}
		}
		return a
	}
	p.avoided[1] = []int32{1} // B
	wantMove(t, p, free("A", "B", "C"), "move [9, 12] A to C")
	want(t, "postponed", p.chunks[1].failed, scheduled.UnixNano())
	want(t, "avoids", len(p.avoided[1]), 0)

	m := wantMove(t, p, free("A", "B"), "move [0, 5] A to B")
	p.MigrationDone(m, serverError(mongoerr.OperationFailed, "ExceededTimeLimit: pending"))
	wantNoMove(t, p, free("A", "B"))
	want(t, "discarded", p.chunks[1].listed, false)

	alone := defragmenting(t, 25, []tuple{{"A", "Min", 5, 3}, {"B", 5, "Max", 100}})
	q := newMovePhase(alone)
	q.avoided[0] = []int32{1}
	wantMove(t, q, NewAvailable(alone.Shards), "move [Min, 5] A to B")
}

func TestDF14DrainingAndZones(t *testing.T) {
	s := defragmenting(t, 25, []tuple{
		{"E", "Min", 0, 100}, {"A", 0, 5, 3}, {"D", 5, 9, 4}, {"B", 9, 12, 4}, {"E", 12, "Max", 100},
	})
	for _, z := range []catalog.ZoneRange{
		{Min: key(t, "Min"), Max: key(t, 0.0), Zone: "out"}, {Min: key(t, 9.0), Max: key(t, 12.0), Zone: "Z"},
	} {
		if err := s.Zones.Add(z); err != nil {
			t.Fatal(err)
		}
	}
	for i := range s.Shards {
		s.Shards[i].Draining = s.Shards[i].ID == "D"
	}
	p := newMovePhase(s)
	for chunk, siblings := range [][]int32{nil, nil, {1}, nil, nil} {
		list, n := p.siblings(int32(chunk))
		want(t, fmt.Sprint("siblings of chunk ", chunk), fmt.Sprint(list[:n]), fmt.Sprint(siblings))
	}
	wantMove(t, p, NewAvailable(s.Shards), "move [5, 9] D to A")
	wantNoMove(t, p, NewAvailable(s.Shards))
	want(t, "[0,5) discarded", p.chunks[1].listed, false)
	want(t, "[9,12) discarded", p.chunks[3].listed, false)
}

func TestDF15RestartWithAMissingEstimate(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", "Max"}})
	p := NewPhase(PhaseMoveAndMerge, s)
	want(t, "complete", p.Complete(), true)
	want(t, "next", p.Next(), PhaseMergeAndMeasure)
	wantAction(t, NewPhase(p.Next(), s), "dataSize [Min, Max] A")
}

func TestDF16RestartKeepsEstimates(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 10}, {"B", 0, 5}, {"A", 5, "Max", 99}})
	want(t, "actions", strings.Join(allActions(NewPhase(PhaseMergeAndMeasure, s)), ", "), "dataSize [0, 5] B")
}

// An empty chunk is measured like any other: its size of nothing is known.
func TestEmptyChunksAreMeasuredOnce(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 0}, {"B", 0, "Max", 0}})
	want(t, "first phase", NewPhase(PhaseMergeAndMeasure, s).Complete(), true)
	p := NewPhase(PhaseMoveAndMerge, s)
	want(t, "small chunks", p.Remaining(), 2)
}

// The user's abort is final, also when something under way fails after it.
func TestAbortByTheUser(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 10, 1}, {"B", 10, "Max", 100}})
	p := NewPhase(PhaseMoveAndMerge, s)
	m := wantMove(t, p, NewAvailable(s.Shards), "move [Min, 10] A to B")
	p.Abort(PhaseFinished)
	want(t, "complete", p.Complete(), false)
	p.MigrationDone(m, serverError(mongoerr.ShardNotFound, "no"))
	want(t, "complete", p.Complete(), true)
	want(t, "next", p.Next(), PhaseFinished)
}
