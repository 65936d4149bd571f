package catalog_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
)

// change is a changed copy of a snapshot, and what of it is not as before.
type change struct {
	name string
	of   func(t *rapid.T, s *catalog.Snapshot) *catalog.Snapshot
	// field begins what snaptest.Diff says, and seen is whether the copy has the
	// change.
	field string
	seen  func(s *catalog.Snapshot) bool
}

func changes() []change {
	at := time.Unix(1, 0).UTC()
	shard := catalog.ShardState{Shard: catalog.Shard{ID: "s1", Host: "another"}}
	added := catalog.ShardState{Shard: catalog.Shard{ID: "s00", Host: "added"}}
	settings := catalog.Settings{Mode: catalog.ModeAutoSplitOnly}
	return []change{
		{"WithTime", func(_ *rapid.T, s *catalog.Snapshot) *catalog.Snapshot { return s.WithTime(at) }, "Time ",
			func(s *catalog.Snapshot) bool { return s.Time() == at }},
		{"WithSettings", func(_ *rapid.T, s *catalog.Snapshot) *catalog.Snapshot { return s.WithSettings(settings) },
			"Settings ",
			func(s *catalog.Snapshot) bool { return s.Settings().Mode == catalog.ModeAutoSplitOnly }},
		{"WithShard", func(_ *rapid.T, s *catalog.Snapshot) *catalog.Snapshot {
			return s.WithShard(shard).WithShard(added)
		}, "Shards ",
			func(s *catalog.Snapshot) bool {
				a, _ := s.Shard("s1")
				b, _ := s.Shard("s00")
				return a.Host == "another" && b.Host == "added" &&
					slices.IsSortedFunc(s.Shards(), func(a, b catalog.ShardState) int {
						return strings.Compare(string(a.ID), string(b.ID))
					})
			}},
		{"WithoutShard", func(_ *rapid.T,
			s *catalog.Snapshot) *catalog.Snapshot {
			return s.WithoutShard("s0").WithoutShard("none")
		},
			"Shards ", func(s *catalog.Snapshot) bool { _, there := s.Shard("s0"); return !there }},
		{"WithoutCollection", func(_ *rapid.T, s *catalog.Snapshot) *catalog.Snapshot {
			return s.WithoutCollection("db.c0").WithoutCollection("no.ne")
		}, "collections ", func(s *catalog.Snapshot) bool { return s.Collection("db.c0") == nil }},
		{"WithCollection", func(t *rapid.T, s *catalog.Snapshot) *catalog.Snapshot {
			c := s.Collection("db.c1")
			if c == nil {
				return s.WithCollection(&catalog.CollectionState{Collection: catalog.Collection{Namespace: "db.c1"}})
			}
			if c.Table != nil {
				first := c.Table.At(0)
				first.Shard, first.Version = "elsewhere", catalog.ChunkVersion{Major: 99}
				table, err := c.Table.Apply([]catalog.Chunk{first})
				if err != nil {
					t.Fatal(err)
				}
				c = c.WithTable(table)
			}
			return s.WithCollection(c.WithZones(nil).WithSize("s0", catalog.ShardData{Bytes: 77}))
		}, "db.c1: ", func(s *catalog.Snapshot) bool { return s.Collection("db.c1") != nil }},
	}
}

// A snapshot never changes; a copy has the change, and all else as before.
func TestCopiesChangeNothingElse(t *testing.T) {
	bytesOf := func(t *rapid.T, s *catalog.Snapshot) []byte {
		var b bytes.Buffer
		if err := snapfile.Write(&b, s); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	rapid.Check(t, func(t *rapid.T) {
		s := snaptest.Draw(t)
		before := bytesOf(t, s)
		c := rapid.SampledFrom(changes()).Draw(t, "change")
		next := c.of(t, s)
		if !c.seen(next) {
			t.Fatalf("%s has no effect", c.name)
		}
		if !bytes.Equal(bytesOf(t, s), before) {
			t.Fatalf("%s has changed the snapshot itself", c.name)
		}
		for _, d := range snaptest.Diff(next, s) {
			if !strings.HasPrefix(d, c.field) && !strings.HasPrefix(d, "collections ") {
				t.Errorf("%s: %s", c.name, d)
			}
		}
	})
}

// A snapshot costs what its routing tables cost, and a copy what it changes.
func TestCopiesCostTheirChange(t *testing.T) {
	const chunks, copies = 20_000, 1000
	p := patternOf(t, bson.D{{Key: "k", Value: 1}})
	b := catalog.NewTableBuilder(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
	bound := func(i int) any {
		switch i {
		case 0:
			return bson.MinKey{}
		case chunks:
			return bson.MaxKey{}
		}
		return int32(i)
	}
	for i := range chunks {
		raw, err := bson.Marshal(bson.D{
			{Key: "min", Value: bson.D{{Key: "k", Value: bound(i)}}}, {Key: "max",
				Value: bson.D{{Key: "k", Value: bound(i + 1)}}},
			{Key: "shard", Value: fmt.Sprintf("s%d", i%10)}, {Key: "lastmod", Value: bson.Timestamp{T: 1, I: uint32(i)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(raw); err != nil {
			t.Fatal(err)
		}
	}
	before := heapNow()
	table, err := b.Table()
	if err != nil {
		t.Fatal(err)
	}
	c := &catalog.CollectionState{Collection: catalog.Collection{Namespace: "x.y", Pattern: p}, Table: table}
	s := catalog.NewSnapshot(catalog.SnapshotParts{Collections: []*catalog.CollectionState{c}})
	kept := []*catalog.Snapshot{s}
	for i := range copies {
		chunk := s.Collection("x.y").Table.At(i * 17 % chunks)
		chunk.Version = catalog.ChunkVersion{Major: uint32(i + 2)}
		next, err := s.Collection("x.y").Table.Apply([]catalog.Chunk{chunk})
		if err != nil {
			t.Fatal(err)
		}
		s = s.WithCollection(s.Collection("x.y").WithTable(next)).WithTime(time.Unix(int64(i), 0))
		kept = append(kept, s)
	}
	// A copy of all chunks would be a megabyte.
	if cost := (heapNow() - before) / copies; cost > 60_000 {
		t.Errorf("a copy with one chunk moved costs %d bytes", cost)
	}
	if first := kept[0].Collection("x.y").Table; first != table || first.Version().Major != 1 {
		t.Error("the first snapshot has changed")
	}
	runtime.KeepAlive(kept)
}

func heapNow() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
