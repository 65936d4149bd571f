package catalog

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The shards that have neighbours are those of which two chunks without the flag
// stand side by side, over the ends of blocks too.
func TestHaveNeighbours(t *testing.T) {
	p := keyOf(t, "x")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		want := map[ShardID]bool{}
		var chunks []Chunk
		lower, n, shards := p.GlobalMin(), 1+r.IntN(1500), 1+r.IntN(300)
		for i := range n {
			upper := p.GlobalMax()
			if i < n-1 {
				upper = mustKey(t, p, doc(t, bson.D{{Key: "x", Value: int32(i)}}))
			}
			c := Chunk{
				Min: lower, Max: upper, Shard: ShardID(rune('a' + r.IntN(shards))), Version: ChunkVersion{1, uint32(i)},
			}
			if r.IntN(4) == 0 {
				c.Jumbo = JumboTrue
			}
			if i > 0 && chunks[i-1].Shard == c.Shard && c.Jumbo != JumboTrue && chunks[i-1].Jumbo != JumboTrue {
				want[c.Shard] = true
			}
			chunks = append(chunks, c)
			lower = upper
		}
		table, err := NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(chunks))
		if err != nil {
			t.Fatal(err)
		}
		if got := table.ShardsWithMergeableChunks(); !maps.Equal(got, want) {
			t.Errorf("seed %d: %v, not %v", seed, got, want)
		}
	}
}
