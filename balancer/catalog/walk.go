package catalog

import "iter"

// All are the chunks in key order.
func (t *RoutingTable) All() iter.Seq[Chunk] { return t.Overlapping(Key{}, Key{}) }

// Overlapping are the chunks that share keys with [from, to), in key order. A
// zero Key leaves that end open.
func (t *RoutingTable) Overlapping(from, to Key) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		slab := historySlab{size: slabSize}
		for bi, span := range t.spans(from, to) {
			b := t.blocks[bi]
			for i := span.from; i < span.to; i++ {
				if !yield(b.chunk(i, t.shards.names, &slab)) {
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
		for bi, span := range t.spans(from, to) {
			b := t.blocks[bi]
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
				if !yield(b.chunk(int(i), t.shards.names, &slab)) {
					return
				}
			}
		}
	}
}

// span is a part of a block.
type span struct{ from, to int }

// spans are the blocks that overlap [from, to), each with the part that does.
func (t *RoutingTable) spans(from, to Key) iter.Seq2[int, span] {
	return func(yield func(int, span) bool) {
		if !to.IsZero() && to.order <= from.order {
			return
		}
		first, start := t.locate(from.order)
		for bi := first; bi < len(t.blocks); bi++ {
			b := t.blocks[bi]
			s := span{0, b.len()}
			if bi == first {
				s.from = start
				if b.low(start+1) <= from.order {
					return // the global maximum, or beyond
				}
			}
			last := !to.IsZero() && to.order <= b.low(b.len())
			if last {
				if to.order <= t.lows[bi] {
					return
				}
				s.to = b.find(to.order) + 1
				if b.low(s.to-1) >= to.order {
					s.to--
				}
			}
			if !yield(bi, s) || last {
				return
			}
		}
	}
}
