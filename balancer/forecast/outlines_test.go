package forecast_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
)

// drawCollections returns a cluster of collections, even and uneven ones, with and without
// chunks to merge, of different ages.
func drawCollections(t *rapid.T) *catalog.Snapshot {
	const shards = 4
	var list []*catalog.CollectionState
	for i := range rapid.SampledFrom([]int{1, 3, 8, 20, 20, 110}).Draw(t, "collections") { // 110: more than a batch of sizes
		owners := rapid.SliceOfN(rapid.IntRange(0, shards-1), 1, 12).Draw(t, "owners")
		if rapid.IntRange(0, 3).Draw(t, "apart") > 0 {
			owners = slices.Compact(owners)
		}
		bytes := rapid.SampledFrom([]int64{0, 1 << 20, 100 << 20, 900 << 20}).Draw(t, "bytes")
		c := snaptest.RowOf(t, fmt.Sprintf("db.c%03d", i), shards, len(owners),
			func(i int) (int, int64) { return owners[i], bytes })
		age := rapid.SampledFrom([]int64{-1, 0, 60, 86_400}).Draw(t, "age")
		c.Table = aged(t, c.Table, age)
		c.NoBalance = rapid.IntRange(0, 9).Draw(t, "off") == 0
		c.EnableAutoMerge = rapid.IntRange(0, 4).Draw(t, "merges") > 0
		list = append(list, c)
	}
	return snaptest.Rows(shards, list...)
}

// aged returns a table of chunks that came to their shards so many seconds ago; below 0 they
// do not tell.
func aged(t *rapid.T, table *catalog.RoutingTable, seconds int64) *catalog.RoutingTable {
	next, err := catalog.NewRoutingTable(table.Pattern(), table.Epoch(), table.Timestamp(),
		func(yield func(catalog.Chunk) bool) {
			for c := range table.All() {
				if seconds >= 0 {
					c.OnCurrentShardSince = bson.Timestamp{T: uint32(noon.Unix() - seconds)}
					c.History = []catalog.ChunkHistory{{ValidAfter: c.OnCurrentShardSince, Shard: c.Shard}}
				}
				if !yield(c) {
					return
				}
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// outlined returns the cluster with the outlines of what is settled, and how much that is.
func outlined(s, judged *catalog.Snapshot) (next *catalog.Snapshot, n int) {
	next = s
	for _, c := range s.Collections() {
		if diagnosis.Settled(judged, c) {
			next, n = next.WithCollection(c.Outlined()), n+1
		}
	}
	return next, n
}

// A forecast for a cluster of which settled collections have outlines alone is that with all
// their routing tables.
func TestOutlinesAreEnough(t *testing.T) {
	settled, moves := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawCollections(t)
		o := forecast.Options{Seed: rapid.Uint64Range(0, 3).Draw(t, "seed")}
		o.Goal.Kind = rapid.SampledFrom([]plan.GoalKind{plan.Balance, plan.Drain, plan.Zones}).Draw(t, "goal")
		judged := s
		if o.Goal.Kind == plan.Drain {
			o.Goal.Shard = "s01"
			shard, _ := s.Shard("s01")
			shard.Draining = true
			judged = s.WithShard(shard)
		}
		less, n := outlined(s, judged)
		want, err := forecast.Of(s, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := forecast.Of(less, o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("with outlines\n%+v\nwith all tables\n%+v", got, want)
		}
		settled, moves = settled+n, moves+got.Moves
	})
	if settled == 0 || moves == 0 {
		t.Errorf("%d settled collections, %d moves: nothing was compared", settled, moves)
	}
}
