package catalog

import "strings"

// blockSize is the size of a block to be written. It is computed in advance, because tables change
// frequently, and this avoids growing and copying slices.
type blockSize struct {
	chunks, encodedBytes, historyEntries int
	stride                               int // of all bounds; 0 if the lengths differ
	hasSizes                             bool
}

// blockSize returns the size of the block for a section that ends with a bound.
func (s section) blockSize(end Key) blockSize {
	r := blockSize{chunks: s.count, encodedBytes: len(end.encoded), stride: len(end.encoded)}
	for _, p := range s.pieces {
		if p.from < p.to {
			r.addRange(p.block, p.from, p.to)
		}
		for i := range p.chunks {
			r.addChunk(&p.chunks[i])
		}
	}
	return r
}

func (s *blockSize) addRange(b *block, from, to int) {
	s.encodedBytes += int(b.offset(to) - b.offset(from))
	s.hasSizes = s.hasSizes || b.sizes != nil
	if b.stride != s.stride {
		s.stride = 0
	}
	if b.history != nil {
		s.historyEntries += int(b.history.offsets[to] - b.history.offsets[from])
	}
}

func (s *blockSize) addChunk(c *Chunk) {
	s.encodedBytes += len(c.Min.encoded)
	s.hasSizes = s.hasSizes || c.Estimate != 0
	if len(c.Min.encoded) != s.stride {
		s.stride = 0
	}
	s.historyEntries += len(c.History)
	if len(c.History) > 0 && !c.OnCurrentShardSince.IsZero() &&
		c.History[0] == (ChunkHistory{c.OnCurrentShardSince, c.Shard}) {
		s.historyEntries-- // implied by shard and since
	}
}

// splicer builds a block from parts of existing blocks and changed chunks.
type splicer struct {
	table      *tableWriter // has the numbers of shards
	block      *block
	encoded    strings.Builder
	typesIndex int // index in the block's types, of the previous bound
}

// splice builds a block from a section that ends with a bound.
func (w *tableWriter) splice(s section, end Key) (*block, error) {
	r := s.blockSize(end)
	b := &block{rows: make([]row, 0, r.chunks), bounds: bounds{stride: r.stride}}
	if r.stride == 0 {
		b.offsets = make([]uint32, 0, r.chunks+2)
	}
	if r.hasSizes {
		b.sizes = make([]Estimate, 0, r.chunks)
	}
	if r.historyEntries > 0 {
		b.history = &histories{offsets: make([]uint32, 1, r.chunks+1), entries: make([]historyEntry, 0, r.historyEntries)}
	}
	x := splicer{table: w, block: b}
	x.encoded.Grow(r.encodedBytes)
	for _, p := range s.pieces {
		if p.from < p.to {
			x.copyChunks(p.block, p.from, p.to)
		}
		for i := range p.chunks {
			if err := x.addChunk(&p.chunks[i]); err != nil {
				return nil, err
			}
		}
	}
	x.addBound(end.encoded, end.types, r.chunks)
	if b.encoded = x.encoded.String(); r.stride == 0 {
		b.offsets = append(b.offsets, uint32(len(b.encoded)))
	}
	b.computeOwnership(w.shardScratch)
	return b, nil
}

// addBound adds bound i.
func (s *splicer) addBound(encoded, types string, i int) {
	if s.block.stride == 0 {
		s.block.offsets = append(s.block.offsets, uint32(s.encoded.Len()))
	}
	s.encoded.WriteString(encoded)
	s.addTypes(types, i)
}

// addTypes records the types of bound i. In most blocks all bounds have the same types, and then no
// index is stored.
func (s *splicer) addTypes(types string, i int) {
	b := s.block
	if i == 0 || b.types[s.typesIndex] != types {
		if s.typesIndex = findTypes(b.types, types); s.typesIndex < 0 {
			s.typesIndex = len(b.types)
			b.types = append(b.types, strings.Clone(types))
		}
	}
	if len(b.types) > 1 && b.typesOf == nil {
		b.typesOf = make([]uint16, i, cap(b.rows)+1)
	}
	if b.typesOf != nil {
		b.typesOf = append(b.typesOf, uint16(s.typesIndex))
	}
}

// addChunk adds a changed chunk.
func (s *splicer) addChunk(c *Chunk) error {
	if !c.Min.Less(c.Max) {
		return emptyRangeError(*c)
	}
	b := s.block
	r, err := s.table.newRow(c)
	if err != nil {
		return err
	}
	s.addBound(c.Min.encoded, c.Min.types, len(b.rows))
	if b.sizes != nil {
		b.sizes = append(b.sizes, c.Estimate)
	}
	for _, h := range c.History {
		e, err := s.table.newHistoryEntry(h)
		if err != nil {
			return err
		}
		if r.classifyEntry(e) {
			b.history.entries = append(b.history.entries, e)
		}
	}
	if b.history != nil {
		b.history.offsets = append(b.history.offsets, uint32(len(b.history.entries)))
	}
	b.rows = append(b.rows, r)
	return nil
}

// copyChunks adds chunks [from, to) of another block.
func (s *splicer) copyChunks(old *block, from, to int) {
	b, at := s.block, len(s.block.rows)
	if b.stride == 0 {
		for i := from; i < to; i++ {
			b.offsets = append(b.offsets, uint32(s.encoded.Len())+old.offset(i)-old.offset(from))
		}
	}
	s.encoded.WriteString(old.encoded[old.offset(from):old.offset(to)])
	s.addTypes(old.key(from).types, at)
	for i := from + 1; i < to && (old.typesOf != nil || b.typesOf != nil); i++ {
		s.addTypes(old.key(i).types, at+i-from)
	}
	b.rows = append(b.rows, old.rows[from:to]...)
	switch {
	case b.sizes == nil:
	case old.sizes == nil:
		b.sizes = b.sizes[:len(b.rows)] // zero, as allocated
	default:
		b.sizes = append(b.sizes, old.sizes[from:to]...)
	}
	if b.history != nil {
		b.history.append(old.history, from, to)
	}
}

// append appends the histories of some chunks of a block. old is nil if the block has no histories.
func (h *histories) append(old *histories, from, to int) {
	end := uint32(len(h.entries))
	if old == nil {
		for range to - from {
			h.offsets = append(h.offsets, end)
		}
		return
	}
	shift := end - old.offsets[from]
	for _, offset := range old.offsets[from+1 : to+1] {
		h.offsets = append(h.offsets, offset+shift)
	}
	h.entries = append(h.entries, old.entries[old.offsets[from]:old.offsets[to]]...)
}

// takeFirst removes the first n chunks from a section. It returns them, and the bound at which the
// remaining chunks begin.
func (s *section) takeFirst(n int) (first section, end Key) {
	for first.count < n {
		p := &s.pieces[0]
		part, left := *p, n-first.count
		if p.len() <= left {
			s.pieces = s.pieces[1:]
		} else if p.chunks != nil {
			part.chunks, p.chunks = p.chunks[:left], p.chunks[left:]
		} else {
			part.to = p.from + left
			p.from = part.to
		}
		first.add(part)
	}
	s.count -= n
	for s.pieces[0].len() == 0 {
		s.pieces = s.pieces[1:]
	}
	if p := s.pieces[0]; p.chunks != nil {
		return first, p.chunks[0].Min
	}
	return first, s.pieces[0].block.key(s.pieces[0].from)
}
