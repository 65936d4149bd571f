package sim_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/sim"
)

// A chunk that was merged holds what lay in its parts, where it lay: the first
// chunk has ten times as much as the second, so that what is cut off both ends in
// the first.
func TestMergedChunksKeepWhatLiesWhere(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 2, 12, func(i int) (int, int64) {
		if i < 11 {
			return 0, 20 * mib
		}
		return 1, 20 * mib
	})
	s = with(s, func(c *catalog.CollectionState) {
		c.Table = aged(t, c.Table)
		c.ChunkSizes = []catalog.ChunkSize{{Min: snaptest.IntKey(t, c.Pattern, 1000), Bytes: 400 * mib, Documents: 400 << 10}}
		c.Sizes[snaptest.ShardID(0)] = catalog.ShardData{Bytes: 600 * mib, Documents: 600 << 10}
	})
	r := start(t, s, sim.Config{Contents: sim.Measured})
	defer r.Close()
	refused := false
	for e := range r.Events(noon.Add(time.Hour)) {
		if e.Kind == sim.MoveFailed {
			refused = mongoerr.Is(e.Err, mongoerr.ConflictingOperationInProgress)
		}
		if e.Kind != sim.Moved {
			continue
		}
		// The chunk from MinKey on has 20 MiB, the next one 400: 128 MiB end where that
		// has 108 of them, at 0.27 of its keys. Evenly spread it would be elsewhere.
		if want := snaptest.IntKey(t, s.Collection("db.c").Pattern, 1270); !e.Max.Equal(want) {
			t.Errorf("moved %s to %s, not to %s", e.Min, e.Max, want)
		}
		if !refused {
			t.Error("the move that began before the merge is not refused")
		}
		return
	}
	t.Error("nothing moved")
}

// aged returns a table whose chunks have been where they are for a day.
func aged(t *testing.T, table *catalog.RoutingTable) *catalog.RoutingTable {
	t.Helper()
	var chunks []catalog.Chunk
	for chunk := range table.All() {
		chunk.OnCurrentShardSince = bson.Timestamp{T: uint32(noon.Add(-24 * time.Hour).Unix())}
		chunks = append(chunks, chunk)
	}
	next, err := table.Apply(chunks)
	if err != nil {
		t.Fatal(err)
	}
	return next
}
