package catalog

import "slices"

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
			s = &shelf{blocks: slices.Clone(s.blocks), lows: s.lows, starts: s.starts, owned: slices.Clone(s.owned)}
			a.shelves[p.shelf] = s
		}
		s.blocks[p.block] = b
		s.count(old, -1)
		s.count(b, 1)
		a.removed = append(a.removed, old)
		a.w.blocks = append(a.w.blocks, b)
		changed = changed[n:]
	}
	return nil
}

// replaced returns a copy of a block with other values for some chunks.
func (a *application) replaced(old *block, changed []Chunk) (*block, error) {
	b := *old
	b.rows, b.sizes = slices.Clone(old.rows), slices.Clone(old.sizes)
	sized := b.sizes != nil
	patches := make([]patch, len(changed))
	for n, c := range changed {
		r, err := a.w.row(c)
		if err != nil {
			return nil, err
		}
		i := old.find(c.Min.order)
		patches[n].at = i
		for _, h := range c.History {
			e, err := a.w.entry(h)
			if err != nil {
				return nil, err
			}
			if r.join(e) {
				patches[n].history = append(patches[n].history, e)
			}
		}
		b.rows[i] = r
		sized = sized || c.Estimate != 0
		if sized && b.sizes == nil {
			b.sizes = make([]Estimate, old.len())
		}
		if sized {
			b.sizes[i] = c.Estimate
		}
	}
	b.history = old.history.replaced(old.len(), patches)
	b.summarise(a.w.counters)
	return &b, nil
}

// patch is the new history of chunk at; patches are in order.
type patch struct {
	at      int
	history []historyEntry
}

// replaced returns a copy with other histories for some of n chunks, nil when
// none has any.
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
