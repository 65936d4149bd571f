package catalog

import (
	"cmp"
	"slices"
	"sort"
)

// Apply makes the table that results when every changed chunk replaces
// whatever it overlaps: what a split, a merge, a migration or an incremental
// read of config.chunks leads to. Of changed chunks that overlap each other
// the higher version wins. The cost is proportional to the blocks the changed
// chunks lie in, not to the table. Changes that would leave a gap are
// ConflictingOperationInProgress, and the table stays as it is.
func (t *RoutingTable) Apply(changed []Chunk) (*RoutingTable, error) {
	if len(changed) == 0 {
		return t, nil
	}
	for _, c := range changed {
		if !c.Min.Less(c.Max) {
			return nil, emptyRange(c)
		}
	}
	changed = disjoint(changed)
	a := &application{old: t, w: newTableWriter(t.shards, t.layout)}
	a.w.shared = true
	if a.sameBounds(changed) {
		if err := a.replaceInPlace(changed); err != nil {
			return nil, err
		}
	} else if err := a.rewrite(changed); err != nil {
		return nil, err
	}
	return a.table(changed), nil
}

// disjoint sorts changed chunks by key and drops those that newer ones overlap.
func disjoint(changed []Chunk) []Chunk {
	byKey := func(a, b Chunk) int {
		return cmp.Or(a.Min.Compare(b.Min), a.Version.Compare(b.Version))
	}
	if !slices.IsSortedFunc(changed, byKey) {
		changed = slices.Clone(changed)
		slices.SortFunc(changed, byKey)
	}
	apart := true
	for i := 1; i < len(changed); i++ {
		apart = apart && !changed[i].Min.Less(changed[i-1].Max)
	}
	if apart {
		return changed
	}
	kept := make([]Chunk, 0, len(changed))
	for _, c := range changed {
		for len(kept) > 0 {
			last := kept[len(kept)-1]
			if !c.Min.Less(last.Max) {
				kept = append(kept, c)
				break
			}
			if c.Version.Compare(last.Version) < 0 {
				break
			}
			kept = kept[:len(kept)-1]
		}
		if len(kept) == 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// application is one Apply under way.
type application struct {
	old     *RoutingTable
	w       tableWriter // its blocks are those added
	shelves []*shelf    // of the new table
	removed []*block
	inPlace bool // all bounds and positions are as before
}

// sameBounds reports whether every changed chunk has the bounds of an existing
// one, types included: migrations and flag changes, which leave bounds and positions alone.
func (a *application) sameBounds(changed []Chunk) bool {
	for _, c := range changed {
		p := a.old.locate(c.Min.order)
		if b := a.old.block(p); b.key(p.chunk) != c.Min || b.key(p.chunk+1) != c.Max {
			return false
		}
	}
	return true
}

// replaceInPlace exchanges values of chunks; blocks keep their bounds.
func (a *application) replaceInPlace(changed []Chunk) error {
	a.inPlace = true
	a.shelves = slices.Clone(a.old.shelves)
	for len(changed) > 0 {
		p := a.old.locate(changed[0].Min.order)
		old := a.old.block(p)
		high, n := old.low(old.len()), 1
		for n < len(changed) && changed[n].Min.order < high {
			n++
		}
		b, err := a.replaced(old, changed[:n])
		if err != nil {
			return err
		}
		s := a.shelves[p.shelf]
		if s == a.old.shelves[p.shelf] {
			s = &shelf{blocks: slices.Clone(s.blocks), lows: s.lows, starts: s.starts}
			a.shelves[p.shelf] = s
		}
		s.blocks[p.block] = b
		a.removed = append(a.removed, old)
		a.w.blocks = append(a.w.blocks, b)
		changed = changed[n:]
	}
	return nil
}

// replaced is a copy of a block with other values for some chunks. Columns in
// which nothing changes are shared.
func (a *application) replaced(old *block, changed []Chunk) (*block, error) {
	b := *old
	patches := make([]patch, len(changed))
	for n, c := range changed {
		v, err := a.w.columns(c)
		if err != nil {
			return nil, err
		}
		i := old.find(c.Min.order)
		flags := chunkFlags(c.Jumbo) & jumboBits
		patches[n].at = i
		for _, h := range c.History {
			e, err := a.w.entry(h)
			if err != nil {
				return nil, err
			}
			if e.join(&flags, v.shard, v.since) {
				patches[n].history = append(patches[n].history, e)
			}
		}
		if len(patches[n].history) == 0 {
			flags &= jumboBits
		}
		set(&b.shards, old.shards, old.len(), i, v.shard)
		set(&b.versions, old.versions, old.len(), i, v.version)
		set(&b.since, old.since, old.len(), i, v.since)
		set(&b.ids, old.ids, old.len(), i, v.id)
		set(&b.flags, old.flags, old.len(), i, flags)
		set(&b.sizes, old.sizes, old.len(), i, v.size)
	}
	b.history = old.history.replaced(old.len(), patches)
	b.summarise(a.w.counters)
	return &b, nil
}

// set changes one entry of a column that may be shared with an old block.
func set[T comparable](column *[]T, old []T, n, i int, v T) {
	switch c := *column; {
	case c == nil:
		var zero T
		if v == zero {
			return
		}
		*column = make([]T, n)
	case c[i] == v:
		return
	case old != nil && &c[0] == &old[0]:
		*column = slices.Clone(old)
	}
	(*column)[i] = v
}

// patch is the new history of chunk at; patches are in order.
type patch struct {
	at      int
	history []historyEntry
}

// replaced is a copy with other histories for some of n chunks, nil when none
// has any.
func (h *histories) replaced(n int, patches []patch) *histories {
	size := 0
	for _, p := range patches {
		size += len(p.history)
	}
	if h == nil && size == 0 {
		return nil
	}
	next := &histories{offsets: make([]uint32, n+1)}
	if h != nil {
		size += len(h.entries)
	}
	next.entries = make([]historyEntry, 0, size)
	for i := range n {
		switch {
		case len(patches) > 0 && patches[0].at == i:
			next.entries = append(next.entries, patches[0].history...)
			patches = patches[1:]
		case h != nil:
			next.entries = append(next.entries, h.entries[h.offsets[i]:h.offsets[i+1]]...)
		}
		next.offsets[i+1] = uint32(len(next.entries))
	}
	if len(next.entries) == 0 {
		return nil
	}
	return next
}

// run is a row of changed chunks without gap, and the position of the existing
// chunks it replaces.
type run struct {
	chunks   []Chunk
	from, to int
}

// runs finds what the changed chunks replace. A run must begin and end where
// chunks did, or there would be a gap.
func (a *application) runs(changed []Chunk) ([]run, error) {
	var runs []run
	for len(changed) > 0 {
		n := 1
		for n < len(changed) && changed[n].Min.Equal(changed[n-1].Max) {
			n++
		}
		r := run{chunks: changed[:n]}
		from, to := changed[0].Min, changed[n-1].Max
		p := a.old.locate(from.order)
		if low := a.old.block(p).key(p.chunk); !low.Equal(from) {
			return nil, notContiguous(a.old.pattern.Bound(low), a.old.pattern.Bound(from))
		}
		r.from = a.old.number(p)
		// The chunks up to the first that lies at or above the end.
		p = a.old.locate(to.order)
		r.to = a.old.number(p)
		if b := a.old.block(p); b.low(p.chunk) != to.order {
			r.to++
			if high := b.key(p.chunk + 1); !high.Equal(to) {
				return nil, notContiguous(a.old.pattern.Bound(to), a.old.pattern.Bound(high))
			}
		}
		runs = append(runs, r)
		changed = changed[n:]
	}
	return runs, nil
}

// piece is a part of a section being rewritten: chunks of an old block, or
// changed ones.
type piece struct {
	block    *block
	from, to int
	chunks   []Chunk
}

func (p piece) len() int { return p.to - p.from + len(p.chunks) }

// section is a row of neighbouring blocks to be written anew.
type section struct {
	pieces []piece
	count  int
}

func (s *section) add(p piece) {
	s.pieces = append(s.pieces, p)
	s.count += p.len()
}

// rewrite goes through the runs from left to right; shelves in which nothing
// changes are taken over as they are.
func (a *application) rewrite(changed []Chunk) error {
	runs, err := a.runs(changed)
	if err != nil {
		return err
	}
	old, next := a.old, 0 // next is the first shelf not dealt with
	for len(runs) > 0 {
		first := old.position(runs[0].from).shelf
		a.shelves = append(a.shelves, old.shelves[next:first]...)
		st := strip{blocks: old.shelves[first].blocks, starts: old.shelves[first].starts, base: int(old.starts[first])}
		n := 0
		for next = first + 1; ; next++ {
			for n < len(runs) && runs[n].to <= int(old.starts[next]) {
				n++
			}
			reaches := n < len(runs) && runs[n].from < int(old.starts[next])
			if next == len(old.shelves) || !reaches && len(st.blocks) >= old.layout.shelfLeast {
				break
			}
			st = st.join(old.shelves[next])
		}
		blocks, err := a.rewriteStrip(st, runs[:n])
		if err != nil {
			return err
		}
		a.shelves = append(a.shelves, old.layout.shelve(blocks)...)
		runs = runs[n:]
	}
	a.shelves = append(a.shelves, old.shelves[next:]...)
	return nil
}

// strip is a row of blocks from one or more shelves. starts count chunks from
// base.
type strip struct {
	blocks []*block
	starts []int32
	base   int
}

func (st strip) join(s *shelf) strip {
	st.blocks = slices.Concat(st.blocks, s.blocks)
	end := st.starts[len(st.starts)-1]
	st.starts = slices.Clip(st.starts)
	for _, n := range s.starts[1:] {
		st.starts = append(st.starts, end+n)
	}
	return st
}

// find gives block and position in it of chunk i of the table.
func (st strip) find(i int) (block, chunk int) {
	i -= st.base
	block = sort.Search(len(st.blocks)-1, func(b int) bool { return i < int(st.starts[b+1]) })
	return block, i - int(st.starts[block])
}

// rewriteStrip writes the blocks anew that the runs touch.
func (a *application) rewriteStrip(st strip, runs []run) ([]*block, error) {
	out := make([]*block, 0, len(st.blocks)+1)
	next := 0 // the first block not dealt with
	for len(runs) > 0 {
		first, _ := st.find(runs[0].from)
		out = append(out, st.blocks[next:first]...)
		next = first
		at := 0 // position in it up to which chunks are in the section
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
			if s.count >= a.old.layout.blockLeast || next == len(st.blocks) {
				break
			}
		}
		a.removed = append(a.removed, st.blocks[first:next]...)
		blocks, err := a.write(s, st.blocks[next-1])
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return append(out, st.blocks[next:]...), nil
}

// write turns a section into blocks of even size; last is the old block it
// ends with.
func (a *application) write(s section, last *block) ([]*block, error) {
	l := a.old.layout
	a.w.fill = l.blockMost
	if s.count > l.blockMost {
		parts := (s.count + l.blockFill - 1) / l.blockFill
		a.w.fill = (s.count + parts - 1) / parts
	}
	a.w.block.reserve(min(s.count, a.w.fill), last)
	written := len(a.w.blocks)
	for _, p := range s.pieces {
		a.w.copy(p.block, p.from, p.to)
		for _, c := range p.chunks {
			if err := a.w.add(c); err != nil {
				return nil, err
			}
		}
	}
	end := last.key(last.len())
	a.w.finish([]byte(end.order), []byte(end.form))
	return a.w.blocks[written:], nil
}

// copy adds chunks of an old block, cutting where blocks are full.
func (w *tableWriter) copy(b *block, from, to int) {
	for from < to {
		if w.block.len() >= w.fill {
			low := b.key(from)
			w.finish([]byte(low.order), []byte(low.form))
		}
		n := min(to-from, w.fill-w.block.len())
		w.block.copy(b, from, from+n)
		from += n
	}
}

// table puts the new table together and brings the totals up to date.
func (a *application) table(changed []Chunk) *RoutingTable {
	t := &RoutingTable{
		pattern: a.old.pattern, epoch: a.old.epoch, timestamp: a.old.timestamp,
		layout: a.old.layout, shards: a.w.shards, shelves: a.shelves,
		lows: a.old.lows, starts: a.old.starts,
	}
	if !a.inPlace {
		t.index()
	}
	a.sum(t)
	t.sumVersions()
	t.newest = a.old.newest
	for _, c := range changed {
		if c.Version == t.version {
			// Found again by its bound, which the table has a copy of.
			p := t.locate(c.Min.order)
			t.newest = t.block(p).low(p.chunk)
		}
	}
	return t
}

// sum takes removed blocks off the totals and adds the new ones. Where the
// newest chunk of a shard went away the remaining ones are asked.
func (a *application) sum(t *RoutingTable) {
	t.totals = make([]shardTotal, len(t.shards.names))
	copy(t.totals, a.old.totals)
	var stale map[uint16]bool
	for _, b := range a.removed {
		for _, o := range b.owned {
			total := &t.totals[o.shard]
			total.chunks -= int32(o.chunks)
			total.jumbo -= int32(o.jumbo)
			if o.newest == total.newest {
				if stale == nil {
					stale = map[uint16]bool{}
				}
				stale[o.shard] = true
			}
		}
	}
	for _, b := range a.w.blocks {
		for _, o := range b.owned {
			total := &t.totals[o.shard]
			if o.newest.Compare(total.newest) >= 0 {
				delete(stale, o.shard)
			}
			total.add(o)
		}
	}
	for n := range stale {
		total := &t.totals[n]
		total.newest = ChunkVersion{}
		if total.chunks == 0 {
			continue
		}
		for b := range t.allBlocks() {
			if o := b.of(n); o != nil && total.newest.Compare(o.newest) < 0 {
				total.newest = o.newest
			}
		}
	}
}
