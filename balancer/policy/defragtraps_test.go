package policy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mongoerr"
)

// The traps of rules/02-examples-and-traps §11 that concern the deciders, by their number.

// played is a subtest that plays worked examples.
func played(id string, why ...string) func(*testing.T) {
	return func(t *testing.T) {
		for _, w := range why {
			phaseExample(t, id, w)
		}
	}
}

func TestTrapsOfDefragmentation(t *testing.T) {
	t.Run("9 the threshold divides by 100 first", played("DF-01", ""))
	t.Run("10 three comparisons with the threshold", trapThreeComparisons)
	t.Run("11 smallest chunk first, fullest shard first: the bigger of a pair may move", played("DF-07", "fullest"))
	t.Run("12 the left sibling wins ties only on a strictly smaller shard", played("DF-06", ""))
	t.Run("13 a sibling on the same shard uses the shard up", trapSameShard)
	t.Run("14 a busy or unavailable sibling is not rejected for a pending range deletion", trapUnavailableSibling)
	t.Run("15 a postponed chunk is met again by the same scan", played("DF-13", "alone"))
	t.Run("16 a busy shard throws the second phase back to the first, which keeps the sizes", trapBackToTheFirst)
	t.Run("17 StaleConfig without a wanted version is tried again, with one the phase restarts", played("DF-10", "without vWanted", "with vWanted"))
	t.Run("18 ExceededTimeLimit of the donor and of the recipient", played("DF-12", "of the donor", "of the recipient"))
	t.Run("19 a merge does not change the progress number", played("DF-03", ""))
	t.Run("20 runs are measured after their merge, single chunks once", trapMeasuredOnce)
	t.Run("21 a single chunk visits all phases, and the second needs a selection to end", played("DF-03", ""))
	t.Run("22 flags and history are ignored, zones count by name", trapZonesByName)
	t.Run("26 BIG is the largest int64, and sums with it stay BIG", trapBig)
}

func trapThreeComparisons(t *testing.T) {
	// Small is up to the threshold of 25.
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 25}, {"B", 0, "Max", 26}})
	want(t, "small chunks", NewPhase(PhaseMoveAndMerge, s).Remaining(), 1)
	for _, c := range []struct{ size, sibling, score int }{
		{15, 10, 0}, // together 25: not more than the threshold
		{16, 10, 2}, // 26, and the sibling is below it
		{25, 24, 2}, // the sibling is just below it
		{26, 25, 1}, // the sibling is not below it
	} {
		s := defragmenting(t, 25, []tuple{{"A", "Min", 0, c.size}, {"B", 0, "Max", c.sibling}})
		want(t, fmt.Sprint(c), newMovePhase(s).score(0, 1), c.score)
	}
}

func trapSameShard(t *testing.T) {
	// Two phases later the two would be merged where they lie; here the donor is
	// asked to move to itself.
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 10}, {"A", 0, 9, 30}, {"B", 9, "Max", 10}})
	p := NewPhase(PhaseMoveAndMerge, s)
	avail := NewAvailableShards(s.Shards)
	m := wantMove(t, p, avail, "move [Min, 0] A to A")
	want(t, "A is free", avail.IsFree("A"), false)
	want(t, "B is free", avail.IsFree("B"), true)
	p.RecordMigrationResult(m, nil)
	wantAction(t, p, "merge [Min, 9] A")
	// A busy shard refuses the request although it has nothing to do.
	p = NewPhase(PhaseMoveAndMerge, s)
	p.RecordMigrationResult(wantMove(t, p, NewAvailableShards(s.Shards), "move [Min, 0] A to A"), serverError(mongoerr.ConflictingOperationInProgress, "busy"))
	want(t, "next", p.NextPhase(), PhaseMergeAndMeasure)
}

func trapUnavailableSibling(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"B", "Min", 0, 100}, {"A", 0, 5, 3}, {"C", 5, "Max", 100}})
	p := newMovePhase(s)
	p.refusedBy[1] = append(p.refusedBy[1], p.chunks[0].shard) // B has a range deletion to do
	avail := NewAvailableShards(s.Shards)
	avail.Take("C")
	wantNoMove(t, p, avail)
	want(t, "postponed", p.chunks[1].postponedAt, 0)
	want(t, "still avoids B", len(p.refusedBy[1]), 1)
	wantMove(t, p, NewAvailableShards(s.Shards), "move [0, 5] A to C")
}

func trapBackToTheFirst(t *testing.T) {
	phaseExample(t, "DF-12", "ConflictingOperationInProgress")
	s := defragmenting(t, 25, []tuple{{"A", "Min", 10, 10}, {"B", 10, "Max", 100}})
	p := NewPhase(PhaseMergeAndMeasure, s)
	want(t, "the first phase is over at once", p.IsComplete(), true)
	want(t, "next", p.NextPhase(), PhaseMoveAndMerge)
}

func trapMeasuredOnce(t *testing.T) {
	phaseExample(t, "DF-16", "")
	// Sizes of what is merged are lost, so that the whole is measured.
	p := NewPhase(PhaseMergeAndMeasure, defragmenting(t, 25, []tuple{{"A", "Min", 10, 10}, {"A", 10, "Max", 20}}))
	merge := wantAction(t, p, "merge [Min, Max] A")
	wantNoAction(t, p)
	p.RecordActionResult(merge, StreamActionResult{})
	wantAction(t, p, "dataSize [Min, Max] A")
}

func trapZonesByName(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0}, {"A", 0, 5}, {"A", 5, 9}, {"A", 9, "Max"}})
	chunks := slices.Collect(s.Table.All())
	for i := range chunks {
		chunks[i].Jumbo = catalog.JumboTrue
		chunks[i].OnCurrentShardSince.T = math.MaxUint32
	}
	s.Table = tableOf(t, chunks)
	merges := func() string { return fmt.Sprint(allActions(NewPhase(PhaseMerge, s))) }
	want(t, "without zones", merges(), "[merge [Min, Max] A]")
	for _, z := range []catalog.ZoneRange{{Min: key(t, 0.0), Max: key(t, 5.0), Zone: "Z"}, {Min: key(t, 5.0), Max: key(t, 9.0), Zone: "Z"}} {
		if err := s.Zones.Add(z); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "two zones of one name", merges(), "[merge [0, 9] A]")
}

func trapBig(t *testing.T) {
	phaseExample(t, "DF-04", "")
	const big = math.MaxInt64
	want(t, "BIG", catalog.TooBig, big)
	for _, c := range [][3]int64{{big, 1, big}, {1, big, big}, {big, big, big}, {1, 2, 3}} {
		want(t, fmt.Sprint(c), mergedSize(c[0], c[1]), c[2])
	}
	// A sibling of unknown size takes the chunk and stays what it is.
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 10}, {"B", 0, "Max", big}})
	p := newMovePhase(s)
	p.RecordMigrationResult(wantMove(t, p, NewAvailableShards(s.Shards), "move [Min, 0] A to B"), nil)
	p.RecordActionResult(wantAction(t, p, "merge [Min, Max] B"), StreamActionResult{})
	want(t, "size of the union", p.chunks[1].size, big)
}

func TestTrapsOfTheAutoMerger(t *testing.T) {
	t.Run("27 the interval counts whole seconds from the beginning of a round and must be exceeded", func(t *testing.T) {
		mergerExample(t, "AM-06", "")
	})
	t.Run("28 no round begins while anything is outstanding or unissued", func(t *testing.T) {
		mergerExample(t, "AM-06", "outstanding")
		mergerExample(t, "AM-06", "unissued")
	})
	t.Run("29 what was merged is asked again until nothing is", func(t *testing.T) {
		mergerExample(t, "AM-02", "")
		mergerExample(t, "AM-05", "")
	})
}

func mergerExample(t *testing.T, id, why string) {
	t.Helper()
	found := false
	for _, c := range examples.Read[mergerCase](t, "testdata/automerger.jsonl") {
		if c.ID == id && (why == "" || c.Why != "" && slices.Contains([]string{c.Why}, "one is "+why)) {
			found = true
			c.play(t)
		}
	}
	if !found {
		t.Fatalf("no case of %s with %q", id, why)
	}
}

// The errors of rules/02-defragmentation-and-merging §2.7, by their numbers.
func TestRetriableErrors(t *testing.T) {
	for _, code := range []mongoerr.Code{
		6, 7, 89, 91, 134, 189, 262, 317, 358, 384, 402, 407, 412, 9001, 10107, 11600, 11602, 13435, 13436, 50915, 91331,
	} {
		want(t, fmt.Sprint("code ", code), canRetry(serverError(code, "passing")), true)
	}
	for _, code := range []mongoerr.Code{
		mongoerr.MaxTimeMSExpired, mongoerr.LockTimeout, mongoerr.WriteConcernFailed, mongoerr.LockBusy,
		mongoerr.ConflictingOperationInProgress, mongoerr.BalancerInterrupted, mongoerr.OperationFailed, mongoerr.IllegalOperation,
	} {
		want(t, fmt.Sprint("code ", code), canRetry(serverError(code, "lasting")), false)
	}
	want(t, "StaleConfig without a wanted version", canRetry(stale(false)), true)
	want(t, "StaleConfig with one", canRetry(stale(true)), false)
	want(t, "an error without a code", canRetry(fmt.Errorf("broken")), false)
}

// rules/02-defragmentation-and-merging §2.1: an unknown phase, and the one of older releases, end it.
func TestUnknownPhasesAreFinished(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", "Max"}})
	for _, name := range []PhaseName{"splitChunks", "whatever", PhaseFinished} {
		p := NewPhase(name, s)
		want(t, string(name), p.Name(), PhaseFinished)
		want(t, string(name)+" is complete", p.IsComplete(), true)
	}
}

// rules/02-defragmentation-and-merging §2.6: the third phase tries again what may pass, and is built
// again after anything else; it measures nothing.
func TestThirdPhase(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 30}, {"A", 0, 5, 40}, {"B", 5, "Max"}})
	p := NewPhase(PhaseMerge, s)
	want(t, "remaining", p.Remaining(), 1)
	merge := wantAction(t, p, "merge [Min, 5] A")
	p.RecordActionResult(merge, StreamActionResult{Err: serverError(mongoerr.NetworkTimeout, "timeout")})
	merge = wantAction(t, p, "merge [Min, 5] A")
	p.RecordActionResult(merge, StreamActionResult{})
	wantNoAction(t, p)
	want(t, "next", p.NextPhase(), PhaseFinished)

	p = NewPhase(PhaseMerge, s)
	p.RecordActionResult(wantAction(t, p, "merge [Min, 5] A"), StreamActionResult{Err: serverError(mongoerr.IllegalOperation, "no")})
	want(t, "after a lasting error", p.NextPhase(), PhaseMerge)
}

// rules/02-defragmentation-and-merging §2.5, replies of merges: a passing error puts the pair at the
// end of the queue, any other throws the phase back to the first.
func TestMergesOfTheSecondPhase(t *testing.T) {
	s := defragmenting(t, 25, []tuple{{"A", "Min", 0, 10}, {"B", 0, 5, 100}, {"C", 5, 9, 100}, {"D", 9, "Max", 10}})
	begin := func() (Phase, StreamAction) {
		p := NewPhase(PhaseMoveAndMerge, s)
		avail := NewAvailableShards(s.Shards)
		first := wantMove(t, p, avail, "move [Min, 0] A to B")
		second := wantMove(t, p, avail, "move [9, Max] D to C")
		p.RecordMigrationResult(first, nil)
		p.RecordMigrationResult(second, nil)
		return p, wantAction(t, p, "merge [Min, 5] B")
	}
	p, merge := begin()
	p.RecordActionResult(merge, StreamActionResult{Err: stale(false)})
	wantAction(t, p, "merge [5, Max] C")
	wantAction(t, p, "merge [Min, 5] B")

	p, merge = begin()
	p.RecordActionResult(merge, StreamActionResult{Err: stale(true)})
	wantNoAction(t, p)
	want(t, "complete", p.IsComplete(), true)
	want(t, "next", p.NextPhase(), PhaseMergeAndMeasure)
}
