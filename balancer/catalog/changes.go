package catalog

import (
	"cmp"
	"iter"
	"slices"
)

// ChunkChange is a difference between two tables of a collection: the new chunk or, if no chunk begins at
// Min any more, only the bound Min.
type ChunkChange struct {
	Min     Key
	Chunk   Chunk
	Removed bool
}

// ChangesSince returns the chunks in which the table differs from an older table of the same pattern,
// in key order. Blocks that the tables share are skipped, so the cost after Apply is that of the
// written blocks. With a nil old table, all chunks differ.
func (t *RoutingTable) ChangesSince(old *RoutingTable) iter.Seq[ChunkChange] {
	return func(yield func(ChunkChange) bool) {
		if old == nil {
			for chunk := range t.All() {
				if !yield(ChunkChange{Min: chunk.Min, Chunk: chunk}) {
					return
				}
			}
			return
		}
		was, is := old.chunksNotIn(t), t.chunksNotIn(old)
		for len(was) > 0 || len(is) > 0 {
			order := compareStarts(was, is)
			switch {
			case order < 0:
				if !yield(ChunkChange{Min: was[0].block.key(was[0].chunk), Removed: true}) {
					return
				}
				was = was[1:]
			default:
				chunk := is[0].load(t)
				if (order > 0 || !chunk.identical(was[0].load(old))) && !yield(ChunkChange{Min: chunk.Min, Chunk: chunk}) {
					return
				}
				is = is[1:]
				if order == 0 {
					was = was[1:]
				}
			}
		}
	}
}

// chunkRef refers to a chunk in its block.
type chunkRef struct {
	block *block
	chunk int
}

func (c chunkRef) load(t *RoutingTable) Chunk { return c.block.chunk(c.chunk, t.shards.names) }

// compareStarts compares the lower bounds of the first chunks of two slices. The result is negative if
// a begins first, positive if b begins first, and zero if both begin at the same key.
func compareStarts(a, b []chunkRef) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return cmp.Compare(a[0].block.encodedAt(a[0].chunk), b[0].block.encodedAt(b[0].chunk))
}

// chunksNotIn returns the chunks in the blocks that another table does not share.
func (t *RoutingTable) chunksNotIn(other *RoutingTable) []chunkRef {
	groups := make(map[*blockGroup]bool, len(other.groups))
	for _, s := range other.groups {
		groups[s] = true
	}
	mine := make(map[*blockGroup]bool, len(t.groups))
	for _, s := range t.groups {
		mine[s] = true
	}
	blocks := map[*block]bool{}
	for _, s := range other.groups {
		if !mine[s] {
			for _, b := range s.blocks {
				blocks[b] = true
			}
		}
	}
	var found []chunkRef
	for _, s := range t.groups {
		if groups[s] {
			continue
		}
		for _, b := range s.blocks {
			if !blocks[b] {
				for i := range b.len() {
					found = append(found, chunkRef{b, i})
				}
			}
		}
	}
	return found
}

// identical reports whether two chunks are equal in all fields, including the types of bounds.
func (c Chunk) identical(o Chunk) bool {
	return c.ID == o.ID && c.Min == o.Min && c.Max == o.Max && c.Shard == o.Shard && c.Version == o.Version &&
		c.Jumbo == o.Jumbo && c.OnCurrentShardSince == o.OnCurrentShardSince && c.Estimate == o.Estimate &&
		slices.Equal(c.History, o.History)
}
