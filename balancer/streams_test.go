package balancer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// defragment flags a collection whose chunks are n on every shard in turn.
func (f *fakeCluster) defragment(t testing.TB, ns string, perShard int) *fakeCollection {
	t.Helper()
	c := f.add(t, ns, make([]int64, len(f.shards))...)
	c.entry.Defragment = true
	c.entry.UUID = bson.Binary{Subtype: 4, Data: []byte(fmt.Sprintf("%-16s", ns))}
	p := c.entry.Pattern
	var chunks []catalog.Chunk
	low := p.GlobalMin()
	for _, shard := range f.shards {
		for range perShard {
			high, err := p.ParseKey(document(t, bson.D{{Key: "x", Value: int32(len(chunks))}}))
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, catalog.Chunk{
				Min: low, Max: high, Shard: shard.ID, Version: catalog.ChunkVersion{Major: 1, Minor: uint32(len(chunks))},
			})
			low = high
		}
	}
	chunks[len(chunks)-1].Max = p.GlobalMax()
	var err error
	if c.table, err = catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(chunks)); err != nil {
		t.Fatal(err)
	}
	return c
}

// merging lets merges and moves change the fake's chunks.
func (f *fakeCluster) merging(c *fakeCollection, measured int64) {
	f.actionResult = func(a policy.StreamAction) policy.StreamActionResult {
		if a.Kind == policy.MeasureRange {
			return policy.StreamActionResult{MeasuredBytes: measured}
		}
		first := c.table.Find(a.Min)
		first.Max, first.Estimate = a.Max, 0
		first.Version = catalog.ChunkVersion{Major: c.table.Version().Major, Minor: c.table.Version().Minor + 1}
		return policy.StreamActionResult{Err: c.apply(first)}
	}
	f.moveErr = func(m policy.Migration) error {
		chunk := c.table.Find(m.Min)
		chunk.Shard = m.To
		chunk.Version = catalog.ChunkVersion{Major: c.table.Version().Major + 1}
		return c.apply(chunk)
	}
}

func (f *fakeCluster) started(kind policy.StreamActionKind) (at []time.Duration) {
	for _, s := range f.actions {
		if s.action.Kind == kind {
			at = append(at, s.at.Sub(start))
		}
	}
	return at
}

// Merges keep a second's distance, from each other and across collections;
// measurements none (TH-01).
func TestTH01MergesAreThrottledMeasurementsAreNot(t *testing.T) {
	f := newFake("A", "B")
	f.settings["automerge"] = bson.D{{Key: "enabled", Value: false}}
	f.defragment(t, "db.c", 2)
	f.defragment(t, "db.d", 1)
	f.run(t)
	f.advance(8 * time.Second)
	if got := f.started(policy.MergeRange); !slices.Equal(got, []time.Duration{0, time.Second}) {
		t.Errorf("merges at %v, want at once and a second later", got)
	}
	measured := f.started(policy.MeasureRange)
	if len(measured) != 4 {
		t.Fatalf("measured at %v, want four", measured)
	}
}

func TestTH01MergeAllIsThrottledBetweenShards(t *testing.T) {
	f := newFake("A", "B")
	f.mergeable = []policy.MergeWork{{Shard: "A", Namespaces: []string{"db.a", "db.b"}}, {Shard: "B", Namespaces: []string{"db.a"}}}
	f.run(t)
	f.advance(time.Minute)
	want := []time.Duration{0, 0, 15 * time.Second}
	if got := f.started(policy.MergeAll); !slices.Equal(got, want) {
		t.Errorf("merges of whole shards at %v, want %v", got, want)
	}
	if want := []string{"autoMerge.enable", "autoMerge.start", "autoMerge.end"}; !slices.Equal(f.changes, want) {
		t.Errorf("logged %v, want %v", f.changes, want)
	}
}

// streamsCase is a worked example of rules/02-examples-and-traps §9.4.
type streamsCase struct {
	ID string
	// Always is how many actions there are at any time, without replies.
	Always, Issued, AfterAReply int
	// PausesMS are those between requests that all fail.
	PausesMS []int64
}

func TestWorkedExamplesOfTheStreams(t *testing.T) {
	for _, line := range examples.Lines(t, "testdata/streams.jsonl") {
		var c streamsCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Always > 0:
			t.Run(c.ID+", trap 1: 51 actions, not 50", c.outstandingLimit)
		case c.PausesMS != nil:
			t.Run(c.ID, c.errorBackoff)
		}
	}
}

func (c streamsCase) outstandingLimit(t *testing.T) {
	f := newFake("A")
	for i := range c.Always {
		f.defragment(t, fmt.Sprintf("db.c%02d", i), 1)
	}
	f.settings["automerge"] = bson.D{{Key: "enabled", Value: false}}
	f.noReplies = true
	f.run(t)
	f.advance(time.Minute)
	if len(f.actions) != c.Issued {
		t.Fatalf("%d actions under way, want %d", len(f.actions), c.Issued)
	}
	f.replies[0](policy.StreamActionResult{MeasuredBytes: 1})
	f.advance(0)
	if len(f.actions) != c.AfterAReply {
		t.Errorf("%d actions after one reply, want %d", len(f.actions), c.AfterAReply)
	}
}

func (c streamsCase) errorBackoff(t *testing.T) {
	f := newFake("A")
	f.mergeableErr = mongoerr.New(mongoerr.HostUnreachable, "no answer")
	f.run(t)
	f.advance(4 * time.Second)
	// The first question may come twice: the round that enables the
	// auto-merger wakes the streams once more.
	got := f.pauses()
	if len(got) > 0 && got[0] == 0 {
		got = got[1:]
	}
	want := c.PausesMS
	if len(got) < len(want)-1 || !slices.Equal(got[:len(want)-1], want[:len(want)-1]) {
		t.Errorf("pauses of %v ms, want %v", got, want)
	}
}

// pauses are the milliseconds between questions for mergeable collections.
func (f *fakeCluster) pauses() (ms []int64) {
	for i := 1; i < len(f.asked); i++ {
		ms = append(ms, f.asked[i].Sub(f.asked[i-1]).Milliseconds())
	}
	return ms
}

func TestAM07Switching(t *testing.T) {
	f := newFake("A")
	loop := f.run(t)
	f.advance(time.Second)
	f.advance(20 * time.Second) // two more rounds
	stopped := bson.D{{Key: "mode", Value: "off"}, {Key: "stopped", Value: true}}
	f.settings["balancer"], f.settings["automerge"] = stopped, bson.D{{Key: "enabled", Value: false}}
	f.advance(10 * time.Second)
	delete(f.settings, "balancer")
	delete(f.settings, "automerge")
	f.advance(10 * time.Second)
	want := []string{
		"autoMerge.enable", "autoMerge.start", "autoMerge.end", "autoMerge.disable",
		"autoMerge.enable", "autoMerge.start", "autoMerge.end",
	}
	if !slices.Equal(f.changes, want) {
		t.Errorf("logged %v, want %v", f.changes, want)
	}
	_ = loop
}

// A whole defragmentation: the phases in their order, one chunk a shard less
// and less, and nothing left in the catalog.
func TestDefragmentationFromFlagToEnd(t *testing.T) {
	f := newFake("A", "B", "C")
	c := f.defragment(t, "db.c", 5)
	f.merging(c, 10*mib)
	f.run(t)
	f.advance(time.Hour)

	want := []policy.PhaseName{policy.PhaseMergeAndMeasure, policy.PhaseMoveAndMerge, policy.PhaseMerge, policy.PhaseFinished}
	if !slices.Equal(f.phases, want) {
		t.Errorf("phases %v, want %v", f.phases, want)
	}
	if c.entry.Defragment || c.entry.DefragmentationPhase != "" {
		t.Errorf("the collection still says %+v", c.entry)
	}
	// Three chunks of 10 MiB, with 32 MiB as the largest small one: 10+10 is
	// small still, and 20+10 too; then there is nothing to merge with.
	if c.table.Len() != 1 {
		t.Errorf("%d chunks are left, want one", c.table.Len())
	}
	if len(f.moves) != 2 || f.overlaps != 0 {
		t.Errorf("%d moves, %d overlaps, want two and none", len(f.moves), f.overlaps)
	}
}

func TestDF17AbortWhileTheBalancerIsOff(t *testing.T) {
	f := newFake("A")
	f.settings["balancer"] = bson.D{{Key: "mode", Value: "off"}, {Key: "stopped", Value: true}}
	c := f.defragment(t, "db.c", 1)
	loop := f.run(t)
	f.advance(time.Minute)
	if d := loop.Defragmentation(c.entry); !d.Running || d.Phase != "" {
		t.Fatalf("status %+v, want running without a phase", d)
	}
	c.entry.DefragmentationPhase = string(policy.PhaseFinished) // what the command stores
	loop.AbortDefragmentation(c.entry.UUID)
	f.advance(time.Minute)
	if !c.entry.Defragment {
		t.Fatal("the flag is gone although nobody could remove it")
	}
	delete(f.settings, "balancer")
	f.advance(10 * time.Second)
	if c.entry.Defragment || c.entry.DefragmentationPhase != "" {
		t.Errorf("the collection still says %+v", c.entry)
	}
}

func TestAbortEndsADefragmentation(t *testing.T) {
	f := newFake("A", "B")
	c := f.defragment(t, "db.c", 3)
	f.merging(c, 10*mib)
	f.actionTime = 100 * time.Millisecond
	loop := f.run(t)
	f.advance(50 * time.Millisecond)
	c.entry.DefragmentationPhase = string(policy.PhaseFinished)
	loop.AbortDefragmentation(c.entry.UUID)
	f.advance(time.Minute)
	if c.entry.Defragment {
		t.Error("the flag is still there")
	}
	if len(f.moves) > 0 {
		t.Errorf("moved %v after the abort", f.moves)
	}
}

// What a new primary finds is what is stored: it goes on from there.
func TestDefragmentationGoesOnAfterStepDown(t *testing.T) {
	f := newFake("A", "B", "C")
	c := f.defragment(t, "db.c", 5)
	f.merging(c, 10*mib)
	for step := 0; c.entry.Defragment; step++ {
		if step > 500 {
			t.Fatalf("not done after %d terms, in phase %q with %d chunks", step, c.entry.DefragmentationPhase, c.table.Len())
		}
		loop := balancer.NewLoop(balancer.Config{Location: time.Local})
		driver := balancer.NewEventDriver(f.queue, loop, f)
		driver.Start()
		f.advance(time.Duration(step%13) * 700 * time.Millisecond)
		driver.Stop()
		f.advance(5 * time.Second) // what was under way ends
	}
	if c.table.Len() != 1 {
		t.Errorf("%d chunks are left, want one", c.table.Len())
	}
}
