package snaptest

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

// DrawAgedSnapshot draws a cluster with balanced and unbalanced collections of different ages, with and
// without chunks to merge.
func DrawAgedSnapshot(t *rapid.T) *catalog.Snapshot {
	const shards = 4
	var list []*catalog.CollectionState
	// 110 are more than one batch of sizes.
	for i := range rapid.SampledFrom([]int{1, 3, 8, 20, 20, 110}).Draw(t, "collections") {
		owners := rapid.SliceOfN(rapid.IntRange(0, shards-1), 1, 12).Draw(t, "owners")
		if rapid.IntRange(0, 3).Draw(t, "apart") > 0 {
			owners = slices.Compact(owners)
		}
		bytes := rapid.SampledFrom([]int64{0, 1 << 20, 100 << 20, 900 << 20}).Draw(t, "bytes")
		c := NewCollection(t, fmt.Sprintf("db.c%03d", i), shards, len(owners),
			func(i int) (int, int64) { return owners[i], bytes })
		age := rapid.SampledFrom([]int64{-1, 0, 60, 86_400}).Draw(t, "age")
		c.Table = withAge(t, c.Table, age)
		c.NoBalance = rapid.IntRange(0, 9).Draw(t, "off") == 0
		c.EnableAutoMerge = rapid.IntRange(0, 4).Draw(t, "merges") > 0
		list = append(list, c)
	}
	return SnapshotOf(shards, list...)
}

// withAge returns a table of chunks that came to their shards the given number of seconds ago. If
// seconds is negative, the chunks have no such time.
func withAge(t *rapid.T, table *catalog.RoutingTable, seconds int64) *catalog.RoutingTable {
	next, err := catalog.NewRoutingTable(table.Pattern(), table.Epoch(), table.Timestamp(),
		func(yield func(catalog.Chunk) bool) {
			for c := range table.All() {
				if seconds >= 0 {
					c.OnCurrentShardSince = bson.Timestamp{T: uint32(SnapshotTime().Unix() - seconds)}
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
