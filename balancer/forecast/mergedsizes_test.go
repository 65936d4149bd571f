package forecast

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

const mib = 1 << 20

// defragmenting is a cluster that moves and merges small chunks: eight chunks of
// 10 MiB by turns on two shards, of which the first two are one by now, and another
// has been moved beside its sibling.
func defragmenting(t *testing.T) *catalog.Snapshot {
	t.Helper()
	s := snaptest.SnapshotOfChunks(t, 2, 8, func(i int) (int, int64) { return i % 2, 10 * mib })
	c := *s.Collection("db.c")
	c.Defragment, c.DefragmentationPhase = true, string(policy.PhaseMoveAndMerge)
	key := func(n int) catalog.Key { return snaptest.IntKey(t, c.Pattern, n) }
	var changed []catalog.Chunk
	for chunk := range c.Table.All() {
		chunk.Estimate = catalog.NewEstimate(10 * mib)
		changed = append(changed, chunk)
	}
	both, moved := changed[0], changed[4]
	both.Max, both.Estimate, both.Version = key(2000), 0, catalog.ChunkVersion{Major: 2}
	moved.Shard, moved.Estimate, moved.Version = snaptest.ShardID(1), 0, catalog.ChunkVersion{Major: 3}
	table, err := c.Table.Apply(append([]catalog.Chunk{both, moved}, slices.Delete(changed[2:], 2, 3)...))
	if err != nil {
		t.Fatal(err)
	}
	c.Table = table
	parts := s.WithCollection(&c).Parts()
	entry := func(what string, ago time.Duration, lower, upper catalog.Key) catalog.LogEntry {
		raw, err := bson.Marshal(bson.D{{Key: "details", Value: bson.D{
			{Key: "min", Value: c.Pattern.Bound(lower)}, {Key: "max", Value: c.Pattern.Bound(upper)},
			{Key: "numChunks", Value: int32(2)},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return catalog.LogEntry{Time: s.Time().Add(-ago), What: what, Namespace: "db.c", Raw: raw}
	}
	parts.Changes = []catalog.LogEntry{
		entry("moveChunk.commit", 3*time.Minute, c.Pattern.GlobalMin(), key(1000)),
		entry("merge", 2*time.Minute, c.Pattern.GlobalMin(), key(2000)),
		entry("moveChunk.commit", time.Minute, key(4000), key(5000)),
	}
	return catalog.NewSnapshot(parts)
}

// A defragmentation goes on where it is: nothing is measured once more, and what it
// has moved is merged. What the catalog does not know is the sum of what it was.
func TestResumed(t *testing.T) {
	s := defragmenting(t)
	c := withMergedSizes(s).Collection("db.c")
	var sizes []int64
	for chunk := range c.Table.All() {
		if !chunk.Estimate.Known() {
			t.Errorf("the chunk at %s is not measured", chunk.Min)
		}
		sizes = append(sizes, chunk.Estimate.Bytes()/mib)
	}
	// Bytes that nobody measured: those of the two merges, of two chunks each.
	if want := []int64{20, 10, 10, 20, 10, 10}; !slices.Equal(sizes, want) {
		t.Errorf("the chunks have %v MiB, not %v", sizes, want)
	}
	for name, at := range map[string]*catalog.Snapshot{"as it is": s, "resumed": withMergedSizes(s)} {
		r, err := sim.New(at, sim.Config{Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for e := range r.Events(s.Time().Add(time.Minute)) {
			if e.Kind == sim.PhaseEntered {
				if again := e.Phase == policy.PhaseMergeAndMeasure; again != (name == "as it is") {
					t.Errorf("%s, it enters %s", name, e.Phase)
				}
				break
			}
		}
	}
}

// Other phases, and collections that are not defragmented, stay as they are.
func TestNotResumed(t *testing.T) {
	s := defragmenting(t)
	for _, change := range []func(*catalog.CollectionState){
		func(c *catalog.CollectionState) { c.Defragment = false },
		func(c *catalog.CollectionState) { c.DefragmentationPhase = string(policy.PhaseMergeAndMeasure) },
		func(c *catalog.CollectionState) { c.DefragmentationPhase = string(policy.PhaseMerge) },
	} {
		c := *s.Collection("db.c")
		change(&c)
		if got := withMergedSizes(s.WithCollection(&c)).Collection("db.c").Table; got != c.Table {
			t.Errorf("%q, %v: the chunks changed", c.DefragmentationPhase, c.Defragment)
		}
	}
}

// Whoever looks on can end a forecast.
func TestWatchEndsAForecast(t *testing.T) {
	stop := errors.New("enough")
	s := snaptest.SnapshotOfChunks(t, 4, 400, func(int) (int, int64) { return 0, 128 * mib })
	_, err := Make(s, Options{OnProgress: func(sim.Progress) error { return stop }})
	if !errors.Is(err, stop) {
		t.Errorf("it ended with %v", err)
	}
}
