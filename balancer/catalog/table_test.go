package catalog

import (
	"runtime"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func doc(t testing.TB, v any) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func keyOf(t testing.TB, fields ...string) KeyPattern {
	t.Helper()
	d := bson.D{}
	for _, f := range fields {
		d = append(d, bson.E{Key: f, Value: int32(1)})
	}
	p, err := ParseKeyPattern(doc(t, d))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// x returns a key of the pattern {x: 1}.
func x(t testing.TB, v any) Key {
	t.Helper()
	k, err := keyOf(t, "x").ParseKey(doc(t, bson.D{{Key: "x", Value: v}}))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// chunksAt cuts the key space of {x: 1} at the points; owners and versions
// 1|0, 1|1, ... go from left to right.
func chunksAt(t testing.TB, points []any, owners ...ShardID) []Chunk {
	t.Helper()
	low := keyOf(t, "x").GlobalMin()
	var chunks []Chunk
	for i, owner := range owners {
		high := keyOf(t, "x").GlobalMax()
		if i < len(points) {
			high = x(t, points[i])
		}
		chunks = append(chunks, Chunk{Min: low, Max: high, Shard: owner, Version: ChunkVersion{1, uint32(i)}})
		low = high
	}
	return chunks
}

func table(t testing.TB, chunks []Chunk) *RoutingTable {
	t.Helper()
	table, err := NewRoutingTable(keyOf(t, "x"), bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(chunks))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestFind(t *testing.T) {
	rt := table(t, chunksAt(t, []any{0, 10, 20}, "a", "b", "a", "c"))
	for _, c := range []struct {
		key  any
		want int
	}{
		{bson.MinKey{}, 0}, {-1, 0}, {0, 1}, {9.5, 1}, {10, 2}, {19, 2}, {20, 3}, {"text", 3}, {bson.MaxKey{}, 3},
	} {
		if got := rt.IndexOf(x(t, c.key)); got != c.want {
			t.Errorf("key %v is in chunk %d, want %d", c.key, got, c.want)
		}
	}
	if got := rt.Owners(); !slices.Equal(got, []ShardID{"a", "b", "c"}) {
		t.Errorf("owners %v", got)
	}
	if rt.CountOn("a") != 2 || rt.CountOn("nobody") != 0 {
		t.Errorf("a has %d chunks, nobody %d", rt.CountOn("a"), rt.CountOn("nobody"))
	}
	if got := rt.ShardVersion("a"); got != (ChunkVersion{1, 2}) {
		t.Errorf("a is at %v", got)
	}
}

// A collection of a million chunks must fit beside everything else.
func TestChunkCostsTensOfBytes(t *testing.T) {
	const n = 50_000
	var chunks []Chunk
	p := keyOf(t, "x")
	low := p.GlobalMin()
	for i := range n {
		high := p.GlobalMax()
		if i < n-1 {
			high = x(t, int64(i)<<20)
		}
		since := bson.Timestamp{T: uint32(i + 1)}
		shard := ShardID([]string{"a", "b", "c"}[i%3])
		chunks = append(chunks, Chunk{ID: bson.NewObjectID(), Min: low, Max: high, Shard: shard,
			Version:             ChunkVersion{1, uint32(i)},
			OnCurrentShardSince: since, History: []ChunkHistory{{since, shard}, {bson.Timestamp{T: 1}, "a"}}})
		low = high
	}
	before := heap()
	rt := table(t, chunks)
	if size := (int64(heap()) - int64(before)) / n; size <= 0 || size > 100 {
		t.Errorf("a chunk takes %d bytes", size)
	}
	runtime.KeepAlive(chunks)
	if rt.Len() != n {
		t.Errorf("%d chunks", rt.Len())
	}
	key := x(t, int64(12345)<<20)
	if allocs := testing.AllocsPerRun(100, func() { rt.ShardOf(key); rt.IndexOf(key); rt.CountOn("a") }); allocs != 0 {
		t.Errorf("%v allocations for a look-up", allocs)
	}
	walk := testing.AllocsPerRun(3, func() {
		for range rt.OwnedChunks("a", Key{}, Key{}) {
		}
	})
	if perChunk := walk / float64(rt.CountOn("a")); perChunk > 0.02 {
		t.Errorf("%v allocations for each chunk walked over", perChunk)
	}
}

func TestOverlapping(t *testing.T) {
	rt := table(t, chunksAt(t, []any{0, 10, 20}, "a", "b", "a", "c"))
	low, high := x(t, bson.MinKey{}), x(t, bson.MaxKey{})
	for _, c := range []struct {
		name     string
		from, to Key
		first, n int
	}{
		{"all", Key{}, Key{}, 0, 4},
		{"all, by name", low, high, 0, 4},
		{"exactly one", x(t, 0), x(t, 10), 1, 1},
		{"inside one", x(t, 3), x(t, 4), 1, 1},
		{"over a boundary", x(t, 3), x(t, 11), 1, 2},
		{"up to a boundary", Key{}, x(t, 10), 0, 2},
		{"from a boundary", x(t, 10), Key{}, 2, 2},
		{"empty", x(t, 3), x(t, 3), 0, 0},
		{"reversed", x(t, 10), x(t, 3), 0, 0},
		{"from the end", high, Key{}, 0, 0},
		{"up to the beginning", Key{}, low, 0, 0},
	} {
		got := slices.Collect(rt.Overlapping(c.from, c.to))
		if len(got) != c.n || c.n > 0 && !sameChunk(got[0], rt.At(c.first)) {
			t.Errorf("%s: %d chunks %v, want %d", c.name, len(got), got, c.n)
		}
	}
	for c := range rt.OwnedChunks("a", x(t, 5), Key{}) { // stops when told to
		if !c.Min.Equal(x(t, 10)) {
			t.Errorf("the first chunk of a above 5 begins at %v", c.Min)
		}
		break
	}
}

// An old table goes on answering as before, whatever is made out of it.
func TestTablesDoNotChange(t *testing.T) {
	rt := table(t, chunksAt(t, []any{0, 10, 20}, "a", "b", "a", "c"))
	moved := rt.At(1)
	moved.Shard, moved.Version = "new", ChunkVersion{2, 0}
	next, err := rt.Apply([]Chunk{moved})
	if err != nil {
		t.Fatal(err)
	}
	if rt.CountOn("b") != 1 || rt.CountOn("new") != 0 || next.CountOn("b") != 0 || next.CountOn("new") != 1 {
		t.Errorf("before %v, after %v", rt.Owners(), next.Owners())
	}
	if !slices.Equal(next.Owners(), []ShardID{"a", "c", "new"}) || next.ShardVersion("b") != (ChunkVersion{}) {
		t.Errorf("owners %v, b at %v", next.Owners(), next.ShardVersion("b"))
	}
	if same, err := next.Apply(nil); same != next || err != nil {
		t.Error("no change made another table")
	}
	for _, owners := range [][]ShardID{rt.Owners(), next.Owners()} {
		for _, s := range owners {
			if rt.CountOn(s)+next.CountOn(s) == 0 {
				t.Errorf("%s owns nothing", s)
			}
		}
	}
}
