package catalog

import (
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// All returns the chunks in key order.
func (t *RoutingTable) All() iter.Seq[Chunk] { return t.Overlapping(Key{}, Key{}) }

// Overlapping returns the chunks that share keys with [from, to), in key order. A zero Key means no
// bound.
func (t *RoutingTable) Overlapping(from, to Key) iter.Seq[Chunk] {
	return t.overlapping(from, to, &historySlab{size: minSlab})
}

// overlapping is like Overlapping, with histories allocated from slab, or without histories if slab is nil.
func (t *RoutingTable) overlapping(from, to Key, slab *historySlab) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		var c Chunk
		for b, span := range t.spans(from, to) {
			for i := span.from; i < span.to; i++ {
				if b.readChunk(i, t.shards.names, slab, &c); !yield(c) {
					return
				}
			}
		}
	}
}

// OwnedChunks returns the chunks of one shard that share keys with [from, to), in key order. A zero Key
// means no bound. Blocks without chunks of the shard are skipped.
func (t *RoutingTable) OwnedChunks(s ShardID, from, to Key) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		if t.CountOn(s) == 0 {
			return
		}
		n := t.shards.number[s]
		slab := historySlab{size: minSlab}
		var c Chunk
		for b, span := range t.spansOnGroups(from, to, func(s *blockGroup) bool { return s.totals.totalOf(n).chunks > 0 }) {
			for _, i := range b.positionsIn(n, span) {
				if b.readChunk(int(i), t.shards.names, &slab, &c); !yield(c) {
					return
				}
			}
		}
	}
}

// FirstOnShardExcept returns the first chunk in key order that a shard owns, other than the chunk that begins
// at lowerBound; false if there is none.
func (t *RoutingTable) FirstOnShardExcept(s ShardID, lowerBound Key) (Chunk, bool) {
	for c := range t.OwnedChunks(s, Key{}, Key{}) {
		if !c.Min.Equal(lowerBound) {
			return c, true
		}
	}
	return Chunk{}, false
}

// MergeCandidates returns the chunks of one shard, from a key on and in key order, that may be adjacent
// to another chunk of the shard. All chunks that can be merged are among them. Chunks without such a
// neighbour are not built. Each chunk comes with the number of skipped chunks since the previous one
// for which isCounted returns true.
func (t *RoutingTable) MergeCandidates(s ShardID, from Key,
	isCounted func(since bson.Timestamp, jumbo Jumbo) bool) iter.Seq2[int, Chunk] {
	return func(yield func(int, Chunk) bool) {
		if t.CountOn(s) == 0 {
			return
		}
		n := t.shards.number[s]
		slab := historySlab{size: minSlab}
		var c Chunk
		passed := 0
		owns := func(s *blockGroup) bool { return s.totals.totalOf(n).chunks > 0 }
		for b, span := range t.spansOnGroups(from, Key{}, owns) {
			for _, at := range b.positionsIn(n, span) {
				i := int(at)
				if i > 0 && i < b.len()-1 && b.rows[i-1].shard != n && b.rows[i+1].shard != n {
					if isCounted(b.rows[i].since, Jumbo(b.rows[i].flags&jumboBits)) {
						passed++
					}
					continue
				}
				if b.readChunk(i, t.shards.names, &slab, &c); !yield(passed, c) {
					return
				}
				passed = 0
			}
		}
	}
}

// HasMergeCandidates reports whether a shard owns two adjacent chunks for which isCounted returns true. If
// it does not, there is nothing to merge on the shard. The check is faster than iterating over
// MergeCandidates.
func (t *RoutingTable) HasMergeCandidates(
	s ShardID,
	from Key,
	isCounted func(since bson.Timestamp, jumbo Jumbo) bool,
) bool {
	if t.CountOn(s) == 0 {
		return false
	}
	n := t.shards.number[s]
	does := func(b *block, i int) bool { return isCounted(b.rows[i].since, Jumbo(b.rows[i].flags&jumboBits)) }
	var before *block // the last block whose last chunk the shard owns
	owns := func(s *blockGroup) bool { return s.totals.totalOf(n).chunks > 0 }
	for b, span := range t.spansOnGroups(from, Key{}, owns) {
		own := b.positionsIn(n, span)
		if len(own) == 0 {
			continue
		}
		if own[0] == 0 && before != nil && before.encodedAt(before.len()) == b.encodedAt(0) &&
			does(before, before.len()-1) && does(b, 0) {
			return true
		}
		for k := 1; k < len(own); k++ {
			if own[k] == own[k-1]+1 && does(b, int(own[k-1])) && does(b, int(own[k])) {
				return true
			}
		}
		if before = nil; int(own[len(own)-1]) == b.len()-1 {
			before = b
		}
	}
	return false
}

// ShardsWithMergeableChunks returns the shards that own two adjacent chunks without jumbo flags. Other
// shards have nothing to merge.
func (t *RoutingTable) ShardsWithMergeableChunks() map[ShardID]bool {
	found := map[ShardID]bool{}
	const nobody = 1 << 16
	last := nobody
	for b := range t.allBlocks() {
		for i := range b.rows {
			shard := int(b.rows[i].shard)
			if b.rows[i].flags.isJumbo() {
				shard = nobody
			} else if shard == last {
				found[t.shards.names[shard]] = true
			}
			last = shard
		}
	}
	return found
}

// FirstNonJumbo returns the first chunk in key order that a shard owns in [from, to) and that has no
// jumbo flag; false if there is none. A zero Key means no bound. Blocks in which all chunks of the
// shard have the flag are skipped, and only the returned chunk is built.
func (t *RoutingTable) FirstNonJumbo(s ShardID, from, to Key) (Chunk, bool) {
	if t.CountOn(s) == t.JumboCount(s) {
		return Chunk{}, false
	}
	n := t.shards.number[s]
	movable := func(s *blockGroup) bool { total := s.totals.totalOf(n); return total.chunks > total.jumbo }
	for b, span := range t.spansOnGroups(from, to, movable) {
		if o := b.ownershipOf(n); o == nil || o.jumbo == o.chunks {
			continue
		}
		for _, i := range b.positionsIn(n, span) {
			if !b.rows[i].flags.isJumbo() {
				return b.chunk(int(i), t.shards.names), true
			}
		}
	}
	return Chunk{}, false
}

// OwnersIn returns the shards that own a chunk sharing keys with [from, to), in ascending order. A zero
// Key means no bound. For blocks that are completely in the range, the summary suffices; chunks are
// read only in the blocks at the ends of the range.
func (t *RoutingTable) OwnersIn(from, to Key) []ShardID {
	missing := 0
	for i := range t.totals {
		if t.totals[i].chunks > 0 {
			missing++
		}
	}
	owns := make([]bool, len(t.totals))
	found := 0
	add := func(shard uint16) {
		if !owns[shard] {
			owns[shard] = true
			found++
			missing--
		}
	}
	for b, span := range t.spans(from, to) {
		if span.to-span.from == b.len() {
			for i := range b.owned {
				add(b.owned[i].shard)
			}
		} else {
			for i := span.from; i < span.to; i++ {
				add(b.rows[i].shard)
			}
		}
		if missing == 0 {
			break
		}
	}
	owners := make([]ShardID, 0, found)
	for _, n := range t.shards.sorted {
		if int(n) < len(owns) && owns[n] {
			owners = append(owners, t.shards.names[n])
		}
	}
	return owners
}

// positionsIn returns the indexes of a shard's chunks in a part of the block.
func (b *block) positionsIn(shard uint16, s span) []uint16 {
	o := b.ownershipOf(shard)
	if o == nil {
		return nil
	}
	all := b.positions[o.first : o.first+o.chunks]
	if s.from > 0 {
		i, _ := slices.BinarySearch(all, uint16(s.from))
		all = all[i:]
	}
	if s.to < b.len() {
		i, _ := slices.BinarySearch(all, uint16(s.to))
		all = all[:i]
	}
	return all
}

// span is a part of a block.
type span struct{ from, to int }

// spans returns the blocks that overlap [from, to), each with the part that does.
func (t *RoutingTable) spans(from, to Key) iter.Seq2[*block, span] {
	return t.spansOnGroups(from, to, func(*blockGroup) bool { return true })
}

// spansOnGroups returns the spans on the groups for which wanted returns true.
func (t *RoutingTable) spansOnGroups(from, to Key, wanted func(*blockGroup) bool) iter.Seq2[*block, span] {
	return func(yield func(*block, span) bool) {
		if !to.IsZero() && to.encoded <= from.encoded {
			return
		}
		p := t.locate(from.encoded)
		if t.block(p).encodedAt(p.chunk+1) <= from.encoded {
			return // the global maximum, or a greater key
		}
		start := p.chunk
		for _, s := range t.groups[p.group:] {
			if !wanted(s) {
				start, p.block = 0, 0
				continue
			}
			for _, b := range s.blocks[p.block:] {
				part, last := b.spanBefore(to)
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

// spanBefore returns the part of the block below to, and whether to is not above the end of this block.
func (b *block) spanBefore(to Key) (part span, last bool) {
	n := b.len()
	switch {
	case to.IsZero() || b.encodedAt(n) < to.encoded:
		return span{0, n}, false
	case to.encoded <= b.encodedAt(0):
		return span{}, true
	}
	i := b.find(to.encoded)
	if b.encodedAt(i) < to.encoded {
		i++
	}
	return span{0, i}, true
}
