package catalog

import (
	"slices"
	"sort"
)

// chunkReplacement is a sequence of changed chunks without a gap, and the positions of the existing chunks that it
// replaces.
type chunkReplacement struct {
	chunks   []Chunk
	from, to int
}

// findReplacements determines the chunks that the changed chunks replace. A run must begin and end at existing
// bounds; otherwise there would be a gap.
func (u *tableUpdate) findReplacements(changed []Chunk) ([]chunkReplacement, error) {
	var runs []chunkReplacement
	for len(changed) > 0 {
		n := 1
		for n < len(changed) && changed[n].Min.Equal(changed[n-1].Max) {
			n++
		}
		r := chunkReplacement{chunks: changed[:n]}
		from, to := changed[0].Min, changed[n-1].Max
		p := u.old.locate(from.encoded)
		if low := u.old.block(p).key(p.chunk); !low.Equal(from) {
			return nil, notContiguousError(u.old.pattern.Bound(low), u.old.pattern.Bound(from))
		}
		r.from = u.old.indexOf(p)
		// The replaced chunks end before the first chunk at or above the end of the run.
		p = u.old.locate(to.encoded)
		r.to = u.old.indexOf(p)
		if b := u.old.block(p); b.encodedAt(p.chunk) != to.encoded {
			r.to++
			if high := b.key(p.chunk + 1); !high.Equal(to) {
				return nil, notContiguousError(u.old.pattern.Bound(to), u.old.pattern.Bound(high))
			}
		}
		runs = append(runs, r)
		changed = changed[n:]
	}
	return runs, nil
}

// piece is a part of a section: chunks of an old block, or changed chunks.
type piece struct {
	block    *block
	from, to int
	chunks   []Chunk
}

func (p piece) len() int { return p.to - p.from + len(p.chunks) }

// section is a sequence of adjacent blocks to be written again.
type section struct {
	pieces []piece
	count  int
}

func (s *section) add(p piece) {
	s.pieces = append(s.pieces, p)
	s.count += p.len()
}

// rewrite processes the runs from left to right. Groups without changes are reused.
func (u *tableUpdate) rewrite(changed []Chunk) error {
	runs, err := u.findReplacements(changed)
	if err != nil {
		return err
	}
	old, next := u.old, 0 // next is the first group that is not processed
	for len(runs) > 0 {
		first := old.locationAt(runs[0].from).group
		u.groups = append(u.groups, old.groups[next:first]...)
		st := blockSequence{blocks: old.groups[first].blocks, starts: old.groups[first].starts, base: int(old.starts[first])}
		n := 0
		for next = first + 1; ; next++ {
			for n < len(runs) && runs[n].to <= int(old.starts[next]) {
				n++
			}
			reaches := n < len(runs) && runs[n].from < int(old.starts[next])
			if next == len(old.groups) || !reaches && len(st.blocks) >= old.layout.minGroupBlocks {
				break
			}
			st = st.appendGroup(old.groups[next])
		}
		removed, added := len(u.removed), len(u.writer.blocks)
		blocks, err := u.rewriteBlocks(st, runs[:n])
		if err != nil {
			return err
		}
		if next == first+1 && len(blocks) <= old.layout.maxGroupBlocks {
			u.groups = append(u.groups, old.groups[first].withBlocks(blocks, u.removed[removed:], u.writer.blocks[added:]))
		} else {
			u.groups = append(u.groups, old.layout.makeGroups(blocks)...)
		}
		runs = runs[n:]
	}
	u.groups = append(u.groups, old.groups[next:]...)
	return nil
}

// blockSequence is a sequence of blocks from one or more groups. starts contains the positions of chunks
// relative to base.
type blockSequence struct {
	blocks []*block
	starts []int32
	base   int
}

func (st blockSequence) appendGroup(s *blockGroup) blockSequence {
	st.blocks = slices.Concat(st.blocks, s.blocks)
	end := st.starts[len(st.starts)-1]
	st.starts = slices.Clip(st.starts)
	for _, n := range s.starts[1:] {
		st.starts = append(st.starts, end+n)
	}
	return st
}

// find returns the block, and the position in it, of chunk i of the table.
func (st blockSequence) find(i int) (block, chunk int) {
	i -= st.base
	block = sort.Search(len(st.blocks)-1, func(b int) bool { return i < int(st.starts[b+1]) })
	return block, i - int(st.starts[block])
}

// rewriteBlocks writes the blocks again that the runs change.
func (u *tableUpdate) rewriteBlocks(st blockSequence, runs []chunkReplacement) ([]*block, error) {
	out := make([]*block, 0, len(st.blocks)+1)
	next := 0 // the first block that is not processed
	for len(runs) > 0 {
		first, _ := st.find(runs[0].from)
		out = append(out, st.blocks[next:first]...)
		next = first
		at := 0 // position up to which its chunks are in the section
		var s section
		for {
			for len(runs) > 0 && runs[0].from-st.base < int(st.starts[next+1]) {
				r := runs[0]
				runs = runs[1:]
				s.add(piece{block: st.blocks[next], from: at, to: r.from - st.base - int(st.starts[next])})
				s.add(piece{chunks: r.chunks})
				next, at = st.find(r.to - 1)
				at++
			}
			s.add(piece{block: st.blocks[next], from: at, to: st.blocks[next].len()})
			next, at = next+1, 0
			if s.count >= u.old.layout.minBlockChunks || next == len(st.blocks) {
				break
			}
		}
		u.removed = append(u.removed, st.blocks[first:next]...)
		blocks, err := u.writeSection(s, st.blocks[next-1])
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return append(out, st.blocks[next:]...), nil
}

// writeSection divides a section into blocks of equal size. last is the last old block of the section.
func (u *tableUpdate) writeSection(s section, last *block) ([]*block, error) {
	l, fill, written := u.old.layout, s.count, len(u.writer.blocks)
	if s.count > l.maxBlockChunks {
		parts := (s.count + l.newBlockChunks - 1) / l.newBlockChunks
		fill = (s.count + parts - 1) / parts
	}
	for s.count > 0 {
		part, end := s, last.key(last.len())
		if s.count > fill {
			part, end = s.takeFirst(fill)
		} else {
			s.count = 0
		}
		b, err := u.writer.splice(part, end)
		if err != nil {
			return nil, err
		}
		u.writer.blocks = append(u.writer.blocks, b)
	}
	return u.writer.blocks[written:], nil
}
