package catalog

import (
	"slices"
	"testing"
)

// TestCountsOfAnOverview: chunks counted by a server and chunks of a routing
// table answer alike.
func TestCountsOfAnOverview(t *testing.T) {
	chunks := chunksAt(t, []any{0, 9}, "b", "a", "b")
	chunks[1].Jumbo = JumboTrue
	for _, c := range []CollectionState{
		{Table: table(t, chunks)},
		{Counts: map[ShardID]ChunkCount{"a": {Chunks: 1, Jumbo: 1}, "b": {Chunks: 2}}},
	} {
		if got := c.Owners(); !slices.Equal(got, []ShardID{"a", "b"}) {
			t.Errorf("owners %v", got)
		}
		if c.Count() != (ChunkCount{3, 1}) || c.CountOn("b") != (ChunkCount{2, 0}) || c.CountOn("c") != (ChunkCount{}) {
			t.Errorf("counts %v, %v on b, %v on c", c.Count(), c.CountOn("b"), c.CountOn("c"))
		}
	}
}
