package catalog

import (
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

// x is a key of the pattern {x: 1}.
func x(t testing.TB, v any) Key {
	t.Helper()
	k, err := keyOf(t, "x").Key(doc(t, bson.D{{Key: "x", Value: v}}))
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
	if rt.Count("a") != 2 || rt.Count("nobody") != 0 {
		t.Errorf("a has %d chunks, nobody %d", rt.Count("a"), rt.Count("nobody"))
	}
	if got := rt.ShardVersion("a"); got != (ChunkVersion{1, 2}) {
		t.Errorf("a is at %v", got)
	}
}
