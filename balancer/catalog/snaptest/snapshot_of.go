package snaptest

import (
	"encoding/binary"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

// SnapshotTime returns the time of the clusters that SnapshotOfChunks, SnapshotOf and Large return.
func SnapshotTime() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// ShardID returns the name of a shard of SnapshotOfChunks and SnapshotOf: s00, s01 and so on.
func ShardID(i int) catalog.ShardID { return catalog.ShardID(fmt.Sprintf("s%02d", i)) }

// IntPattern returns the shard key of SnapshotOfChunks: {x: 1}.
func IntPattern(t rapid.TB) catalog.KeyPattern {
	t.Helper()
	p, err := catalog.ParseKeyPattern(bson.Raw("\x0c\x00\x00\x00\x10x\x00\x01\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// IntKey returns the shard key {x: i} of that pattern. It builds the bytes itself, because benchmarks
// need a million keys.
func IntKey(t rapid.TB, p catalog.KeyPattern, i int) catalog.Key {
	t.Helper()
	raw := binary.LittleEndian.AppendUint32([]byte{12, 0, 0, 0, 0x10, 'x', 0}, uint32(i))
	k, err := p.ParseKey(append(raw, 0))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// SnapshotOfChunks returns a cluster with one collection, db.c, as returned by NewCollection.
func SnapshotOfChunks(t rapid.TB, shards, n int, chunk func(i int) (shard int, bytes int64)) *catalog.Snapshot {
	t.Helper()
	return SnapshotOf(shards, NewCollection(t, "db.c", shards, n, chunk))
}

// SnapshotOf returns a cluster of shards that contains only these collections.
func SnapshotOf(shards int, collections ...*catalog.CollectionState) *catalog.Snapshot {
	parts := catalog.SnapshotParts{
		Source: catalog.Source{Kind: catalog.SourceLive, Name: "h:27017"}, ClusterID: bson.ObjectID{7},
		Time: SnapshotTime(), Release: catalog.Release80, Settings: catalog.DefaultSettings(), Collections: collections,
	}
	for i := range shards {
		parts.Shards = append(parts.Shards, catalog.ShardState{Shard: catalog.Shard{ID: ShardID(i), Host: "rs/h:1"}})
	}
	return catalog.NewSnapshot(parts)
}

// NewCollection returns a collection of n chunks: up to 1000, [1000,2000) and so on. chunk returns the shard
// and the bytes of each chunk. Documents have 1 KiB.
func NewCollection(
	t rapid.TB, ns string, shards, n int, chunk func(i int) (shard int, bytes int64),
) *catalog.CollectionState {
	t.Helper()
	p := IntPattern(t)
	sizes := map[catalog.ShardID]catalog.ShardData{}
	for i := range shards {
		sizes[ShardID(i)] = catalog.ShardData{}
	}
	table, err := catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, func(yield func(catalog.Chunk) bool) {
		lower := p.GlobalMin()
		for i := range n {
			upper := p.GlobalMax()
			if i < n-1 {
				upper = IntKey(t, p, 1000*(i+1))
			}
			shard, bytes := chunk(i)
			id := ShardID(shard)
			data := sizes[id]
			data.Bytes, data.Documents = data.Bytes+bytes, data.Documents+bytes/1024
			sizes[id] = data
			c := catalog.Chunk{
				Min: lower, Max: upper, Shard: id, Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)},
			}
			if !yield(c) {
				return
			}
			lower = upper
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	copy(id, ns)
	return &catalog.CollectionState{
		Collection: catalog.Collection{
			Namespace: ns, UUID: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id}, Pattern: p,
			AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true,
		},
		Table: table, Zones: catalog.NewZoneSet(p), Sizes: sizes,
	}
}
