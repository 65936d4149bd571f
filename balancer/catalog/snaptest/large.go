package snaptest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
)

// Scale is the size of a generated cluster. The zero value of a field means the default.
type Scale struct {
	Shards          int  // 3
	Chunks          int  // 1000, of all collections
	Collections     int  // 1; the first has half of the chunks, or all
	SameChunkCounts bool // all collections have the same number of chunks
	// ChunkBytes is the size of a chunk: 32 MiB by default. The maximum chunk size is 128 MiB.
	ChunkBytes int64
	// EmptyShards is the number of shards without data; they are the last by id.
	EmptyShards int
	// JumboEvery sets the jumbo flag of every so many chunks; 0 sets none.
	JumboEvery int
}

// Million returns the scale for performance measurements: a million chunks on a hundred shards.
func Million() Scale { return Scale{Shards: 100, Chunks: 1_000_000, Collections: 5} }

func (s Scale) withDefaults() Scale {
	s.Shards, s.Chunks, s.Collections = cmp.Or(s.Shards, 3), cmp.Or(s.Chunks, 1000), cmp.Or(s.Collections, 1)
	s.ChunkBytes = cmp.Or(s.ChunkBytes, 32<<20)
	return s
}

// Large returns a cluster of a scale. The result is always the same: collections db.c0, db.c1, … with
// the key {k: "hashed"} on shards s000, s001, …. All chunks have moved once, at least an hour ago, and
// adjacent chunks are on different shards.
func Large(t testing.TB, s Scale) *catalog.Snapshot {
	t.Helper()
	s = s.withDefaults()
	if s.EmptyShards >= s.Shards {
		t.Fatalf("%d of %d shards are to be empty", s.EmptyShards, s.Shards)
	}
	p := catalog.SnapshotParts{
		Source: catalog.Source{Kind: catalog.SourceLive, Name: "mongodb://large:27017/"},
		Time:   SnapshotTime(), ClusterTime: bson.Timestamp{T: uint32(SnapshotTime().Unix()), I: 1},
		ClusterID: bson.ObjectID{1}, Version: "8.0.10", Release: catalog.Release80.WithPatch(10),
		Settings: catalog.DefaultSettings(), Balancer: catalog.BalancerState{Mode: catalog.ModeFull, Rounds: 1000},
		Databases: []catalog.Database{{Name: "db", Primary: largeShard(0)}}, DeletionsKnown: true,
		Routers: []catalog.Router{{ID: "router:27017", Version: "8.0.10", Ping: SnapshotTime()}},
	}
	for i := range s.Shards {
		p.Shards = append(p.Shards, catalog.ShardState{Shard: catalog.Shard{
			ID: largeShard(i), Host: fmt.Sprintf("%s/%s:27017", largeShard(i), largeShard(i)), State: 1,
		}})
	}
	left := s.Chunks
	for i := range s.Collections {
		n := left / 2
		switch {
		case i == s.Collections-1:
			n = left
		case s.SameChunkCounts:
			n = s.Chunks / s.Collections
		}
		left -= n
		p.Collections = append(p.Collections, s.collection(t, i, n))
	}
	return catalog.NewSnapshot(p)
}

// LargeFile writes the cluster to a file in a directory of the test, and returns its path.
func LargeFile(t testing.TB, s Scale) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large.snap")
	if err := snapfile.Save(path, Large(t, s)); err != nil {
		t.Fatal(err)
	}
	return path
}

func largeShard(i int) catalog.ShardID { return catalog.ShardID(fmt.Sprintf("s%03d", i)) }

func (s Scale) collection(t testing.TB, number, chunks int) *catalog.CollectionState {
	t.Helper()
	p, err := catalog.ParseKeyPattern(bson.Raw("\x13\x00\x00\x00\x02k\x00\x07\x00\x00\x00hashed\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	at := SnapshotTime().AddDate(-1, 0, number%300)
	entry := catalog.Collection{
		Namespace: fmt.Sprintf("db.c%d", number), UUID: largeUUID(number),
		Epoch:     bson.ObjectID{2, byte(number), byte(number >> 8)},
		Timestamp: bson.Timestamp{T: uint32(at.Unix()), I: 1}, LastMod: at, Pattern: p,
		AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true,
	}
	sizes := map[catalog.ShardID]catalog.ShardData{}
	for i := range s.Shards {
		sizes[largeShard(i)] = catalog.ShardData{}
	}
	table, err := catalog.NewRoutingTable(p, entry.Epoch, entry.Timestamp, s.chunks(t, p, number, chunks, sizes))
	if err != nil {
		t.Fatal(err)
	}
	return &catalog.CollectionState{Collection: entry, Table: table, Zones: catalog.NewZoneSet(p), Sizes: sizes}
}

// chunks returns n chunks of equal width, and adds the amount on each shard to sizes.
func (s Scale) chunks(
	t testing.TB, p catalog.KeyPattern, number, n int, sizes map[catalog.ShardID]catalog.ShardData,
) iter.Seq[catalog.Chunk] {
	ids := make([]catalog.ShardID, s.Shards)
	for i := range ids {
		ids[i] = largeShard(i)
	}
	filled := s.Shards - s.EmptyShards
	step := ^uint64(0)/uint64(n) + 1
	began := uint32(SnapshotTime().Add(-time.Hour).Unix()) - uint32(n)
	first := []catalog.ChunkHistory{{ValidAfter: bson.Timestamp{T: began - 1, I: 1}, Shard: ids[0]}}
	return func(yield func(catalog.Chunk) bool) {
		low := p.GlobalMin()
		raw := append([]byte{16, 0, 0, 0, 0x12, 'k', 0}, make([]byte, 9)...)
		for i := range n {
			high := p.GlobalMax()
			if i < n-1 {
				binary.LittleEndian.PutUint64(raw[7:], uint64(i+1)*step-1<<63)
				var err error
				if high, err = p.ParseKey(raw); err != nil {
					t.Fatal(err)
				}
			}
			id := ids[uint32(i)*2654435761>>16%uint32(filled)]
			data := sizes[id]
			data.Bytes, data.Documents = data.Bytes+s.ChunkBytes, data.Documents+s.ChunkBytes>>10
			sizes[id] = data
			since := bson.Timestamp{T: began + uint32(i), I: 1}
			c := catalog.Chunk{
				ID: largeID(number, i), Min: low, Max: high, Shard: id,
				Version:             catalog.ChunkVersion{Major: uint32(1 + i/2), Minor: uint32(i % 2)},
				OnCurrentShardSince: since,
				History:             append([]catalog.ChunkHistory{{ValidAfter: since, Shard: id}}, first...),
			}
			if s.JumboEvery > 0 && i%s.JumboEvery == 0 {
				c.Jumbo = catalog.JumboTrue
			}
			if !yield(c) {
				return
			}
			low = high
		}
	}
}

func largeUUID(number int) bson.Binary {
	id := uuid(byte(1 + number))
	id.Data[1] = byte((1 + number) >> 8)
	return id
}

func largeID(number, i int) (id bson.ObjectID) {
	id[0], id[1] = byte(3+number), byte((3+number)>>8)
	binary.BigEndian.PutUint64(id[4:], uint64(i))
	return id
}
