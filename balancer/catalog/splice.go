package catalog

import "strings"

// room is what a block of a section takes, counted before it is written: a table
// changes all the time, and nothing should grow step by step, or be copied twice.
type room struct {
	chunks, order, entries int
	stride                 int // of all bounds; 0 if they differ
	sized                  bool
}

// room returns the size of a block of the section that ends with a bound.
func (s section) room(end Key) room {
	r := room{chunks: s.count, order: len(end.order), stride: len(end.order)}
	for _, p := range s.pieces {
		if p.from < p.to {
			r.take(p.block, p.from, p.to)
		}
		for i := range p.chunks {
			r.add(&p.chunks[i])
		}
	}
	return r
}

func (r *room) take(b *block, from, to int) {
	r.order += int(b.offset(to) - b.offset(from))
	r.sized = r.sized || b.sizes != nil
	if b.stride != r.stride {
		r.stride = 0
	}
	if b.history != nil {
		r.entries += int(b.history.offsets[to] - b.history.offsets[from])
	}
}

func (r *room) add(c *Chunk) {
	r.order += len(c.Min.order)
	r.sized = r.sized || c.Estimate != 0
	if len(c.Min.order) != r.stride {
		r.stride = 0
	}
	r.entries += len(c.History)
	if len(c.History) > 0 && !c.OnCurrentShardSince.IsZero() &&
		c.History[0] == (ChunkHistory{c.OnCurrentShardSince, c.Shard}) {
		r.entries-- // implied (row.join)
	}
}

// splicer writes one block of pieces of others and of changed chunks.
type splicer struct {
	table *tableWriter // knows the shards
	block *block
	order strings.Builder
	form  int // in the block's forms, of the bound before
}

// splice makes a block of a section that ends with a bound.
func (w *tableWriter) splice(s section, end Key) (*block, error) {
	r := s.room(end)
	b := &block{rows: make([]row, 0, r.chunks), bounds: bounds{stride: r.stride}}
	if r.stride == 0 {
		b.offsets = make([]uint32, 0, r.chunks+2)
	}
	if r.sized {
		b.sizes = make([]Estimate, 0, r.chunks)
	}
	if r.entries > 0 {
		b.history = &histories{offsets: make([]uint32, 1, r.chunks+1), entries: make([]historyEntry, 0, r.entries)}
	}
	x := splicer{table: w, block: b}
	x.order.Grow(r.order)
	for _, p := range s.pieces {
		if p.from < p.to {
			x.copy(p.block, p.from, p.to)
		}
		for i := range p.chunks {
			if err := x.add(&p.chunks[i]); err != nil {
				return nil, err
			}
		}
	}
	x.bound(end.order, end.form, r.chunks)
	if b.order = x.order.String(); r.stride == 0 {
		b.offsets = append(b.offsets, uint32(len(b.order)))
	}
	b.summarise(w.counters)
	return b, nil
}

// bound adds bound i.
func (x *splicer) bound(order, form string, i int) {
	if x.block.stride == 0 {
		x.block.offsets = append(x.block.offsets, uint32(x.order.Len()))
	}
	x.order.WriteString(order)
	x.formed(form, i)
}

// formed notes the form of bound i. Most blocks have one, and keep no list of
// which bound has which.
func (x *splicer) formed(form string, i int) {
	b := x.block
	if i == 0 || b.forms[x.form] != form {
		if x.form = seekForm(b.forms, form); x.form < 0 {
			x.form = len(b.forms)
			b.forms = append(b.forms, strings.Clone(form))
		}
	}
	if len(b.forms) > 1 && b.formOf == nil {
		b.formOf = make([]uint16, i, cap(b.rows)+1)
	}
	if b.formOf != nil {
		b.formOf = append(b.formOf, uint16(x.form))
	}
}

// add adds a changed chunk.
func (x *splicer) add(c *Chunk) error {
	if !c.Min.Less(c.Max) {
		return emptyRange(*c)
	}
	b := x.block
	r, err := x.table.row(c)
	if err != nil {
		return err
	}
	x.bound(c.Min.order, c.Min.form, len(b.rows))
	if b.sizes != nil {
		b.sizes = append(b.sizes, c.Estimate)
	}
	for _, h := range c.History {
		e, err := x.table.entry(h)
		if err != nil {
			return err
		}
		if r.join(e) {
			b.history.entries = append(b.history.entries, e)
		}
	}
	if b.history != nil {
		b.history.offsets = append(b.history.offsets, uint32(len(b.history.entries)))
	}
	b.rows = append(b.rows, r)
	return nil
}

// copy adds chunks from up to to of another block.
func (x *splicer) copy(old *block, from, to int) {
	b, at := x.block, len(x.block.rows)
	if b.stride == 0 {
		for i := from; i < to; i++ {
			b.offsets = append(b.offsets, uint32(x.order.Len())+old.offset(i)-old.offset(from))
		}
	}
	x.order.WriteString(old.order[old.offset(from):old.offset(to)])
	x.formed(old.key(from).form, at)
	for i := from + 1; i < to && (old.formOf != nil || b.formOf != nil); i++ {
		x.formed(old.key(i).form, at+i-from)
	}
	b.rows = append(b.rows, old.rows[from:to]...)
	switch {
	case b.sizes == nil:
	case old.sizes == nil:
		b.sizes = b.sizes[:len(b.rows)] // as they were made: zero
	default:
		b.sizes = append(b.sizes, old.sizes[from:to]...)
	}
	if b.history != nil {
		b.history.append(old.history, from, to)
	}
}

// append adds the histories of some chunks of a block, which may have none.
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

// cut takes the first n chunks off a section, and returns them with the bound
// at which the others begin.
func (s *section) cut(n int) (first section, end Key) {
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
