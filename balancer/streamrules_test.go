package balancer_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// rules/02-defragmentation-and-merging §1.2: a stream that fails counts as an error of the iteration
// also when the other one has an action, so that the back-off goes on.
func TestStreamThatFailsBesideAnAction(t *testing.T) {
	f := newFake("A")
	for _, ns := range []string{"db.a", "db.b", "db.c"} {
		f.defragment(t, ns, 1)
	}
	f.noReplies = true
	f.mergeableErr = mongoerr.New(mongoerr.HostUnreachable, "no answer")
	f.run(t)
	f.advance(time.Second)
	if len(f.actions) != 3 {
		t.Fatalf("%d actions, want three beside the failures", len(f.actions))
	}
	// The failures beside the actions took the pauses of 1, 2 and 4 ms, in which
	// there was something to do.
	got := f.pauses()
	if i := slices.IndexFunc(got, func(ms int64) bool { return ms > 0 }); i < 0 || got[i] != 8 {
		t.Errorf("pauses of %v ms, want 8 first", got[:min(8, len(got))])
	}
}

// rules/02-defragmentation-and-merging §1.4: the switch of the auto-merger alone ends its stream, with
// the next settings read, and leaves the policy enabled.
func TestAutoMergeSwitchedOffByHand(t *testing.T) {
	f := newFake("A")
	f.run(t)
	f.advance(time.Second)
	f.settings["automerge"] = bson.D{{Key: "enabled", Value: false}}
	f.advance(20 * time.Second)
	f.mergeable = []policy.MergeWork{{Shard: "A", Namespaces: []string{"db.a"}}}
	f.advance(2 * time.Hour)
	if slices.Contains(f.changes, "autoMerge.disable") {
		t.Errorf("logged %v, want no autoMerge.disable", f.changes)
	}
	if got := f.started(policy.MergeAll); len(got) != 0 {
		t.Errorf("auto-merges at %v although they are switched off", got)
	}
}

// rules/02-defragmentation-and-merging §2.4: a size that could not be stored is not asked for again at
// once. The second phase misses it, and the first one measures what is missing.
func TestSizeThatIsNotStored(t *testing.T) {
	f := newFake("A", "B")
	f.settings["automerge"] = bson.D{{Key: "enabled", Value: false}}
	c := f.defragment(t, "db.c", 1)
	f.merging(c, 10*mib)
	f.estimateErr = mongoerr.New(6049401, "no such chunk")
	f.run(t)
	f.advance(time.Hour)
	want := []policy.PhaseName{
		policy.PhaseMergeAndMeasure, policy.PhaseMoveAndMerge, policy.PhaseMergeAndMeasure,
		policy.PhaseMoveAndMerge, policy.PhaseMerge, policy.PhaseFinished,
	}
	if !slices.Equal(f.phases, want) {
		t.Errorf("phases %v, want %v", f.phases, want)
	}
	if got := f.started(policy.MeasureRange); len(got) != 3 {
		t.Errorf("measured at %v, want two and then the missing one", got)
	}
}
