package catalog

import (
	"cmp"
	"iter"
	"slices"
)

// Change is one chunk in which two tables of a collection differ: the chunk as
// it is now or, where none begins at Min any more, nothing but that bound.
type Change struct {
	Min   Key
	Chunk Chunk
	Gone  bool
}

// Since returns the chunks in which the table differs from an older one of the
// same pattern, in key order. What the tables share is not looked at, so after
// Apply the cost is that of the blocks it has written. From nil all differ.
func (t *RoutingTable) Since(old *RoutingTable) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		if old == nil {
			for chunk := range t.All() {
				if !yield(Change{Min: chunk.Min, Chunk: chunk}) {
					return
				}
			}
			return
		}
		was, is := old.without(t), t.without(old)
		for len(was) > 0 || len(is) > 0 {
			order := firstOf(was, is)
			switch {
			case order < 0:
				if !yield(Change{Min: was[0].block.key(was[0].chunk), Gone: true}) {
					return
				}
				was = was[1:]
			default:
				chunk := is[0].read(t)
				if (order > 0 || !chunk.same(was[0].read(old))) && !yield(Change{Min: chunk.Min, Chunk: chunk}) {
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

// inBlock is a chunk where it lies.
type inBlock struct {
	block *block
	chunk int
}

func (p inBlock) read(t *RoutingTable) Chunk { return p.block.chunk(p.chunk, t.shards.names) }

// firstOf compares where two rows of chunks begin: below zero the first one is
// first, above zero the second, zero both.
func firstOf(a, b []inBlock) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return cmp.Compare(a[0].block.low(a[0].chunk), b[0].block.low(b[0].chunk))
}

// without returns the chunks in the blocks that another table does not share.
func (t *RoutingTable) without(other *RoutingTable) []inBlock {
	shelves := make(map[*blockGroup]bool, len(other.shelves))
	for _, s := range other.shelves {
		shelves[s] = true
	}
	mine := make(map[*blockGroup]bool, len(t.shelves))
	for _, s := range t.shelves {
		mine[s] = true
	}
	blocks := map[*block]bool{}
	for _, s := range other.shelves {
		if !mine[s] {
			for _, b := range s.blocks {
				blocks[b] = true
			}
		}
	}
	var found []inBlock
	for _, s := range t.shelves {
		if shelves[s] {
			continue
		}
		for _, b := range s.blocks {
			if !blocks[b] {
				for i := range b.len() {
					found = append(found, inBlock{b, i})
				}
			}
		}
	}
	return found
}

// same reports whether two chunks are equal in everything, types of bounds
// included.
func (c Chunk) same(o Chunk) bool {
	return c.ID == o.ID && c.Min == o.Min && c.Max == o.Max && c.Shard == o.Shard && c.Version == o.Version &&
		c.Jumbo == o.Jumbo && c.OnCurrentShardSince == o.OnCurrentShardSince && c.Estimate == o.Estimate &&
		slices.Equal(c.History, o.History)
}
