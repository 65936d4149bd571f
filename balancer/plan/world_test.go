package plan_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const mib = 1 << 20

func pattern(t testing.TB) catalog.KeyPattern {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "x", Value: int32(1)}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// key returns the shard key {x: i}.
func key(t testing.TB, i int) catalog.Key {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "x", Value: int32(i)}})
	if err != nil {
		t.Fatal(err)
	}
	k, err := pattern(t).Key(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// collection returns a collection of chunks [-inf,1000), [1000,2000) and so on, each
// on the shard with this number and with 1 KiB documents of so many bytes together.
func collection(t testing.TB, ns string, shards int, bytes int64, owners ...int) *catalog.CollectionState {
	t.Helper()
	p := pattern(t)
	sizes := map[catalog.ShardID]catalog.ShardData{}
	for i := range shards {
		sizes[shardID(i)] = catalog.ShardData{}
	}
	chunks := func(yield func(catalog.Chunk) bool) {
		lower := p.GlobalMin()
		for i, owner := range owners {
			upper := p.GlobalMax()
			if i < len(owners)-1 {
				upper = key(t, 1000*(i+1))
			}
			data := sizes[shardID(owner)]
			data.Bytes, data.Documents = data.Bytes+bytes, data.Documents+bytes/1024
			sizes[shardID(owner)] = data
			c := catalog.Chunk{
				Min: lower, Max: upper, Shard: shardID(owner), Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)},
			}
			if !yield(c) {
				return
			}
			lower = upper
		}
	}
	table, err := catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, chunks)
	if err != nil {
		t.Fatal(err)
	}
	uuid := make([]byte, 16)
	copy(uuid, ns)
	return &catalog.CollectionState{
		Collection: catalog.Collection{
			Namespace: ns, UUID: bson.Binary{Subtype: 4, Data: uuid}, Pattern: p,
			AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true,
		},
		Table: table, Zones: catalog.NewZoneSet(p), Sizes: sizes,
	}
}

func shardID(i int) catalog.ShardID { return catalog.ShardID(fmt.Sprintf("s%d", i)) }

func cluster(shards int, colls ...*catalog.CollectionState) *catalog.Snapshot {
	parts := catalog.SnapshotParts{
		Time: noon, Release: catalog.Release80, Settings: catalog.DefaultSettings(), Collections: colls,
		ClusterID: bson.ObjectID{7}, Source: catalog.Source{Kind: catalog.SourceLive, Name: "h:27017"},
	}
	for i := range shards {
		parts.Shards = append(parts.Shards, catalog.ShardState{Shard: catalog.Shard{ID: shardID(i), Host: "rs/h:1"}})
	}
	return catalog.NewSnapshot(parts)
}

func mustMake(t testing.TB, s *catalog.Snapshot, o plan.Options) *plan.Plan {
	t.Helper()
	p, err := plan.Make(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// repeat returns the number n times.
func repeat(number, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = number
	}
	return list
}
