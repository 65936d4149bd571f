package catalog

import "slices"

// replaceInPlace replaces the values of chunks. The bounds of blocks stay the same.
func (u *tableUpdate) replaceInPlace(changed []Chunk) error {
	u.sameBounds = true
	u.groups = slices.Clone(u.old.groups)
	for len(changed) > 0 {
		p := u.old.locate(changed[0].Min.encoded)
		old := u.old.block(p)
		high, n := old.encodedAt(old.len()), 1
		for n < len(changed) && changed[n].Min.encoded < high {
			n++
		}
		b, err := u.withValues(old, changed[:n])
		if err != nil {
			return err
		}
		s := u.groups[p.group]
		if s == u.old.groups[p.group] {
			s = &blockGroup{
				blocks:    slices.Clone(s.blocks),
				blockMins: s.blockMins,
				starts:    s.starts,
				totals:    slices.Clone(s.totals),
			}
			u.groups[p.group] = s
		}
		s.blocks[p.block] = b
		s.totals.replaceBlocks([]*block{old}, []*block{b}, s.newest)
		u.removed = append(u.removed, old)
		u.writer.blocks = append(u.writer.blocks, b)
		changed = changed[n:]
	}
	return nil
}

// withValues returns a copy of a block with new values for some chunks.
func (u *tableUpdate) withValues(old *block, changed []Chunk) (*block, error) {
	b := *old
	b.rows, b.sizes = slices.Clone(old.rows), slices.Clone(old.sizes)
	sized := b.sizes != nil
	patches, maxEntries := make([]historyPatch, len(changed)), 0
	for i := range changed {
		maxEntries += len(changed[i].History)
	}
	entries := make([]historyEntry, 0, maxEntries) // of all patches
	for n := range changed {
		c := &changed[n]
		r, err := u.writer.newRow(c)
		if err != nil {
			return nil, err
		}
		i := old.find(c.Min.encoded)
		first := len(entries)
		for _, h := range c.History {
			e, err := u.writer.newHistoryEntry(h)
			if err != nil {
				return nil, err
			}
			if r.classifyEntry(e) {
				entries = append(entries, e)
			}
		}
		patches[n] = historyPatch{at: i, history: entries[first:]}
		b.rows[i] = r
		sized = sized || c.Estimate != 0
		if sized && b.sizes == nil {
			b.sizes = make([]Estimate, old.len())
		}
		if sized {
			b.sizes[i] = c.Estimate
		}
	}
	b.history = old.history.withPatches(old.len(), patches)
	if !b.reuseOwners(old, patches) {
		b.computeOwnership(u.writer.shardScratch)
	}
	return &b, nil
}

// historyPatch is the new history of chunk at. Patches are in the order of chunks.
type historyPatch struct {
	at      int
	history []historyEntry
}

// withPatches returns a copy with new histories for some of n chunks; nil if no chunk has a history.
func (h *histories) withPatches(n int, patches []historyPatch) *histories {
	size := 0
	for _, p := range patches {
		size += len(p.history)
	}
	if h == nil && size == 0 {
		return nil
	}
	if h != nil {
		size += len(h.entries)
	}
	next := &histories{offsets: make([]uint32, 1, n+1), entries: make([]historyEntry, 0, size)}
	at := 0
	for _, p := range patches {
		next.append(h, at, p.at)
		next.entries = append(next.entries, p.history...)
		next.offsets = append(next.offsets, uint32(len(next.entries)))
		at = p.at + 1
	}
	next.append(h, at, n)
	if len(next.entries) == 0 {
		return nil
	}
	return next
}

// reuseOwners takes the ownership summary of the old block, if the changed chunks have the same owners
// as before, for example if only their versions have changed. Otherwise it returns false.
func (b *block) reuseOwners(old *block, patches []historyPatch) bool {
	for _, p := range patches {
		if was := &old.rows[p.at]; was.shard != b.rows[p.at].shard {
			return false
		}
	}
	b.owned = slices.Clone(old.owned)
	for _, p := range patches {
		was, is := &old.rows[p.at], &b.rows[p.at]
		o := b.ownershipOf(is.shard)
		if was.flags.isJumbo() {
			o.jumbo--
		}
		if is.flags.isJumbo() {
			o.jumbo++
		}
		switch {
		case o.newest.Compare(is.version) <= 0:
			o.newest = is.version
		case o.newest == was.version:
			o.newest = ChunkVersion{}
			for _, i := range b.positions[o.first : o.first+o.chunks] {
				if v := b.rows[i].version; o.newest.Compare(v) < 0 {
					o.newest = v
				}
			}
		}
	}
	return true
}
