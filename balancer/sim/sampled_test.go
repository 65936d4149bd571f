package sim_test

import (
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/sim"
)

// Where it is known which keys there are, chunks are cut at them, and not where their bounds
// lie: one from MinKey to 12,000 with keys from 10,000 on is cut there.
func TestCutsAtSampledKeys(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 2, 3, func(int) (int, int64) { return 0, 400 * mib })
	s = with(s, func(c *catalog.CollectionState) {
		for i := range 99 { // the first chunk holds nearly all
			c.Sampled = append(c.Sampled, snaptest.IntKey(t, c.Pattern, 10+i*9))
		}
	})
	pattern := s.Collection("db.c").Pattern
	r := start(t, s, sim.Config{Contents: sim.Measured})
	defer r.Close()
	for e := range r.Events(noon.Add(time.Hour)) {
		if e.Kind != sim.Moved {
			continue
		}
		// 1200 MiB, of which each of the 99 keys has 1/102 (one more for each of 3 chunks): the
		// first 128 MiB are as many as 10.9 keys have.
		if want := snaptest.IntKey(t, pattern, 10+10*9); !e.Max.Equal(want) {
			t.Errorf("moved %s to %s, not to %s", e.Min, e.Max, want)
		}
		if e.Bytes < 110*mib || e.Bytes > 135*mib {
			t.Errorf("moved %d MiB", e.Bytes/mib)
		}
		return
	}
	t.Error("nothing moved")
}

// A sample divides what a shard has, and leaves what was measured as it is.
func TestSampleDividesTheRest(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 1, 4, func(int) (int, int64) { return 0, 100 * mib })
	s = with(s, func(c *catalog.CollectionState) {
		c.ChunkSizes = []catalog.ChunkSize{{Min: c.Table.At(0).Min, Bytes: 100 * mib, Documents: 100}}
		for i := range 7 { // all in the second chunk
			c.Sampled = append(c.Sampled, snaptest.IntKey(t, c.Pattern, 1000+i))
		}
	})
	c := s.Collection("db.c")
	contents := sim.Measured(c, 128*mib)
	for i, want := range []int64{100, 240, 30, 30} { // 300 MiB are left, for 8 + 1 + 1
		if got := contents(c.Table.At(i)).Bytes / mib; got < want-1 || got > want {
			t.Errorf("chunk %d has %d MiB, want %d", i, got, want)
		}
	}
}
