package diff_test

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diff"
)

// keys are as many as the model's collections have: 0 to keys-1, each a place where a chunk
// can begin.
const keys = 12

// modelChunk is what the chunk is that has a key.
type modelChunk struct {
	shard string
	jumbo bool
	begin bool
}

type model [keys]modelChunk

func drawModel(t *rapid.T, name string) (m model) {
	for i := range m {
		if m[i].begin = i == 0 || rapid.Bool().Draw(t, name+" begins"); m[i].begin {
			m[i].shard = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, name+" shard")
			m[i].jumbo = rapid.Bool().Draw(t, name+" jumbo")
			continue
		}
		m[i].shard, m[i].jumbo = m[i-1].shard, m[i-1].jumbo
	}
	return m
}

func (m model) snapshot(t *rapid.T, p catalog.KeyPattern) *catalog.Snapshot {
	bound := func(i int) catalog.Key {
		switch i {
		case 0:
			return p.GlobalMin()
		case keys:
			return p.GlobalMax()
		}
		raw, err := bson.Marshal(bson.D{{Key: "x", Value: i}})
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.ExtendBound(raw)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	table, err := catalog.NewRoutingTable(p, bson.NewObjectID(), bson.Timestamp{T: 1}, func(yield func(catalog.Chunk) bool) {
		n := uint32(1)
		for i := 0; i < keys; {
			end := i + 1
			for end < keys && !m[end].begin {
				end++
			}
			c := catalog.Chunk{ID: bson.NewObjectID(), Min: bound(i), Max: bound(end), Shard: catalog.ShardID(m[i].shard),
				Version: catalog.ChunkVersion{Major: n, Minor: 0}}
			if m[i].jumbo {
				c.Jumbo = catalog.JumboTrue
			}
			if !yield(c) {
				return
			}
			i, n = end, n+1
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &catalog.CollectionState{Table: table}
	c.Namespace, c.Pattern, c.UUID = "db.c", p, bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	return catalog.NewSnapshot(catalog.SnapshotParts{Collections: []*catalog.CollectionState{c}})
}

// What is told of chunks is what becomes of each key of a small model, also when the shard
// key was refined in between.
func TestChunksByAModel(t *testing.T) {
	short := mustPattern(t, bson.D{{Key: "x", Value: 1}})
	long := mustPattern(t, bson.D{{Key: "x", Value: 1}, {Key: "y", Value: 1}})
	rapid.Check(t, func(t *rapid.T) {
		was, is := drawModel(t, "was"), drawModel(t, "is")
		pattern := short
		want := map[diff.Kind]int64{}
		if rapid.Bool().Draw(t, "refined") {
			pattern = long
			want[diff.KeyRefined] = 0
		}
		wasJumbo, isJumbo, other := 0, 0, [2]bool{}
		for i := range keys {
			if i == 0 || was[i].begin {
				wasJumbo = i
			}
			if i == 0 || is[i].begin {
				isJumbo = i
			}
			if (was[i].begin || is[i].begin) && was[i].shard != is[i].shard {
				want[diff.ChunksMoved]++
			}
			if is[i].begin && !was[i].begin {
				want[diff.ChunksSplit]++
			}
			if was[i].begin && !is[i].begin {
				want[diff.ChunksMerged]++
			}
			if was[i].begin {
				other[0] = false
			}
			if is[i].begin {
				other[1] = false
			}
			other[0], other[1] = other[0] || is[i].jumbo, other[1] || was[i].jumbo
			last := func(m model) bool { return i == keys-1 || m[i+1].begin }
			if last(was) && was[wasJumbo].jumbo && !other[0] {
				want[diff.JumboCleared]++
			}
			if last(is) && is[isJumbo].jumbo && !other[1] {
				want[diff.JumboSet]++
			}
		}
		got := map[diff.Kind]int64{}
		for _, c := range diff.Compare(was.snapshot(t, short), is.snapshot(t, pattern)).Changes {
			got[c.Kind] = c.Count
			var flows int64
			for _, f := range c.Flows {
				flows += f.Count
			}
			if c.Kind == diff.ChunksMoved && flows != c.Count {
				t.Errorf("%d moved, and %+v", c.Count, c.Flows)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v\n%v\nare %v, want %v", was, is, got, want)
		}
	})
}

func mustPattern(t *testing.T, d bson.D) catalog.KeyPattern {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What one snapshot lacks is not a change, and is said.
func TestGapsAreNoChanges(t *testing.T) {
	full := catalog.SnapshotParts{Shards: []catalog.ShardState{{Shard: catalog.Shard{ID: "a", Host: "a/h:1"}}},
		Members: []catalog.Member{{Shard: "a", Host: "h:1", Version: "8.0.1"}},
		Routers: []catalog.Router{{ID: "r:1", Version: "8.0.1"}}, Databases: []catalog.Database{{Name: "d", Primary: "a"}},
		Version: "8.0.1", Compatibility: catalog.Compatibility{Version: "8.0"}, Settings: catalog.DefaultSettings()}
	var lacking catalog.SnapshotParts
	for _, what := range []string{"shards", "mongos", "databases", "settings", "compatibility", "collections", "version", "lease", "sizes"} {
		lacking.Source.Gaps = append(lacking.Source.Gaps, catalog.Gap{What: what, Reason: "not allowed"})
	}
	for i, r := range []diff.Result{diff.Compare(catalog.NewSnapshot(full), catalog.NewSnapshot(lacking)),
		diff.Compare(catalog.NewSnapshot(lacking), catalog.NewSnapshot(full))} {
		if len(r.Changes) > 0 {
			t.Errorf("%+v", r.Changes)
		}
		side := []string{"newer", "older"}[i]
		for _, want := range []string{"shards of the " + side + " snapshot: not allowed", "members: only one of the snapshots has them"} {
			if !slices.Contains(r.NotCompared, want) {
				t.Errorf("%q is not in %q", want, r.NotCompared)
			}
		}
	}
}
