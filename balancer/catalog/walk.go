package catalog

import "iter"

// All are the chunks in key order.
func (t *RoutingTable) All() iter.Seq[Chunk] { return t.Overlapping(Key{}, Key{}) }

// Overlapping are the chunks that share keys with [from, to), in key order. A
// zero Key leaves that end open.
func (t *RoutingTable) Overlapping(from, to Key) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		slab := historySlab{size: slabSize}
		var c Chunk
		for b, span := range t.spans(from, to) {
			for i := span.from; i < span.to; i++ {
				if b.read(i, t.shards.names, &slab, &c); !yield(c) {
					return
				}
			}
		}
	}
}

// Owned are the chunks of one shard that share keys with [from, to), in key
// order. A zero Key leaves that end open. Blocks without chunks of the shard
// are skipped.
func (t *RoutingTable) Owned(s ShardID, from, to Key) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		n, ok := t.shards.number[s]
		if !ok {
			return
		}
		slab := historySlab{size: slabSize}
		var c Chunk
		for b, span := range t.spans(from, to) {
			o := b.of(n)
			if o == nil {
				continue
			}
			for _, i := range b.positions[o.first : o.first+o.chunks] {
				if int(i) < span.from {
					continue
				}
				if int(i) >= span.to {
					break
				}
				if b.read(int(i), t.shards.names, &slab, &c); !yield(c) {
					return
				}
			}
		}
	}
}

// span is a part of a block.
type span struct{ from, to int }

// spans are the blocks that overlap [from, to), each with the part that does.
func (t *RoutingTable) spans(from, to Key) iter.Seq2[*block, span] {
	return func(yield func(*block, span) bool) {
		if !to.IsZero() && to.order <= from.order {
			return
		}
		p := t.locate(from.order)
		if t.block(p).low(p.chunk+1) <= from.order {
			return // the global maximum, or beyond
		}
		start := p.chunk
		for _, s := range t.shelves[p.shelf:] {
			for _, b := range s.blocks[p.block:] {
				part, last := b.before(to)
				part.from = start
				if part.from < part.to && !yield(b, part) || last {
					return
				}
				start = 0
			}
			p.block = 0
		}
	}
}

// before is the part of the block below to, and whether nothing follows it.
func (b *block) before(to Key) (part span, last bool) {
	n := b.len()
	switch {
	case to.IsZero() || b.low(n) < to.order:
		return span{0, n}, false
	case to.order <= b.low(0):
		return span{}, true
	}
	i := b.find(to.order)
	if b.low(i) < to.order {
		i++
	}
	return span{0, i}, true
}
