package forecast_test

import (
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const mib = 1 << 20

func shardID(i int) catalog.ShardID { return catalog.ShardID(fmt.Sprintf("s%02d", i)) }

func pattern(t rapid.TB) catalog.KeyPattern {
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

// key returns the shard key {x: i}, made by hand: benchmarks need a million.
func key(t rapid.TB, p catalog.KeyPattern, i int) catalog.Key {
	t.Helper()
	raw := binary.LittleEndian.AppendUint32([]byte{12, 0, 0, 0, 0x10, 'x', 0}, uint32(i))
	k, err := p.Key(append(raw, 0))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// world returns a snapshot of one collection db.c with n chunks, [0,1000),
// [1000,2000) and so on, each on the shard and with the bytes that chunk tells.
// Documents have 1 KiB.
func world(t rapid.TB, shards, n int, chunk func(i int) (shard int, bytes int64)) *catalog.Snapshot {
	t.Helper()
	p := pattern(t)
	sizes := map[catalog.ShardID]catalog.ShardData{}
	parts := catalog.SnapshotParts{Time: noon, Release: catalog.Release80, Settings: catalog.DefaultSettings()}
	for i := range shards {
		parts.Shards = append(parts.Shards, catalog.ShardState{Shard: catalog.Shard{ID: shardID(i), Host: "rs/h:1"}})
		sizes[shardID(i)] = catalog.ShardData{}
	}
	chunks := func(yield func(catalog.Chunk) bool) {
		lower := p.GlobalMin()
		for i := range n {
			upper := p.GlobalMax()
			if i < n-1 {
				upper = key(t, p, 1000*(i+1))
			}
			shard, bytes := chunk(i)
			data := sizes[shardID(shard)]
			data.Bytes += bytes
			data.Documents += bytes / 1024
			sizes[shardID(shard)] = data
			c := catalog.Chunk{
				Min: lower, Max: upper, Shard: shardID(shard), Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)},
			}
			if !yield(c) {
				return
			}
			lower = upper
		}
	}
	table, err := catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, iter.Seq[catalog.Chunk](chunks))
	if err != nil {
		t.Fatal(err)
	}
	parts.Collections = []*catalog.CollectionState{{
		Collection: catalog.Collection{
			Namespace: "db.c", UUID: bson.Binary{Subtype: 4, Data: make([]byte, 16)}, Pattern: p,
			AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true,
		},
		Table: table, Zones: catalog.NewZoneSet(p), Sizes: sizes,
	}}
	return catalog.NewSnapshot(parts)
}

// measured returns a snapshot whose change log has n migrations of 128 MiB that
// took so long.
func measured(s *catalog.Snapshot, n int, took time.Duration) *catalog.Snapshot {
	parts := s.Parts()
	for i := range n {
		at := s.Time().Add(-time.Duration(n-i) * 2 * took)
		parts.Changes = append(parts.Changes, entry(at, "moveChunk.commit", bson.D{
			{Key: "min", Value: bson.D{{Key: "x", Value: int32(i)}}}, {Key: "from", Value: "s00"}, {Key: "to", Value: "s01"},
			{Key: "counts", Value: bson.D{{Key: "clonedBytes", Value: int64(128 * mib)}}},
		}), entry(at.Add(time.Millisecond), "moveChunk.from", bson.D{
			{Key: "step 3 of 6", Value: int32(200)}, {Key: "step 4 of 6", Value: int32(took.Milliseconds() - 200)},
			{Key: "min", Value: bson.D{{Key: "x", Value: int32(i)}}}, {Key: "to", Value: "s01"}, {Key: "from", Value: "s00"},
			{Key: "note", Value: "success"},
		}))
	}
	return catalog.NewSnapshot(parts)
}

func entry(at time.Time, what string, details bson.D) catalog.LogEntry {
	raw, err := bson.Marshal(bson.D{
		{Key: "time", Value: at}, {Key: "what", Value: what}, {Key: "ns", Value: "db.c"}, {Key: "details", Value: details},
	})
	if err != nil {
		panic(err)
	}
	return catalog.LogEntry{Time: at, What: what, Namespace: "db.c", Raw: raw}
}
