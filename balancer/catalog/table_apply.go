package catalog

import (
	"cmp"
	"slices"
)

// Apply returns the table in which every changed chunk replaces the chunks that it overlaps, as after a
// split, a merge, a migration or an incremental read of config.chunks. Of changed chunks that overlap
// each other, the one with the higher version is used. The cost is proportional to the number of blocks
// that contain changed chunks, not to the size of the table. If the changes would leave a gap, the
// error is ConflictingOperationInProgress, and t is unchanged in any case.
func (t *RoutingTable) Apply(changed []Chunk) (*RoutingTable, error) {
	if len(changed) == 0 {
		return t, nil
	}
	for _, c := range changed {
		if !c.Min.Less(c.Max) {
			return nil, emptyRangeError(c)
		}
	}
	changed = dropOverlapped(changed)
	a := &tableUpdate{old: t, writer: newTableWriter(t.shards, t.layout)}
	a.writer.sharedNames = true
	if a.keepsBounds(changed) {
		if err := a.replaceInPlace(changed); err != nil {
			return nil, err
		}
	} else if err := a.rewrite(changed); err != nil {
		return nil, err
	}
	return a.newTable(changed), nil
}

// WithoutJumboFlags returns a table in which no chunk of a shard has the jumbo flag. An empty shard
// means all shards.
func (t *RoutingTable) WithoutJumboFlags(on ShardID) (*RoutingTable, error) {
	var changed []Chunk
	for c := range t.JumboChunks() {
		if on == "" || c.Shard == on {
			c.Jumbo = JumboUnset
			changed = append(changed, c)
		}
	}
	return t.Apply(changed)
}

// dropOverlapped sorts changed chunks by key and removes chunks that newer chunks overlap.
func dropOverlapped(changed []Chunk) []Chunk {
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

// tableUpdate is the state of one Apply.
type tableUpdate struct {
	old        *RoutingTable
	writer     tableWriter   // its blocks are the added ones
	groups     []*blockGroup // of the new table
	removed    []*block
	sameBounds bool // all bounds and positions are as before
}

// keepsBounds reports whether every changed chunk has the bounds of an existing chunk, including types.
// This is the case for migrations and flag changes, which leave bounds and positions unchanged.
func (u *tableUpdate) keepsBounds(changed []Chunk) bool {
	for _, c := range changed {
		p := u.old.locate(c.Min.encoded)
		if b := u.old.block(p); b.key(p.chunk) != c.Min || b.key(p.chunk+1) != c.Max {
			return false
		}
	}
	return true
}

// newTable builds the new table and updates the totals.
func (u *tableUpdate) newTable(changed []Chunk) *RoutingTable {
	t := &RoutingTable{
		pattern: u.old.pattern, epoch: u.old.epoch, timestamp: u.old.timestamp,
		layout: u.old.layout, shards: u.writer.shards, groups: u.groups,
		groupMins: u.old.groupMins, starts: u.old.starts,
	}
	if !u.sameBounds {
		t.indexGroups()
	}
	u.updateTotals(t)
	t.updateVersion()
	t.newestMin = u.old.newestMin
	for _, c := range changed {
		if c.Version == t.version {
			// Located by its bound, of which the table has a copy.
			p := t.locate(c.Min.encoded)
			t.newestMin = t.block(p).encodedAt(p.chunk)
		}
	}
	return t
}

// updateTotals updates the totals. The newest chunk of a shard is taken from the groups, which are up
// to date already.
func (u *tableUpdate) updateTotals(t *RoutingTable) {
	t.totals = make(shardTotals, len(t.shards.names))
	copy(t.totals, u.old.totals)
	t.totals.replaceBlocks(u.removed, u.writer.blocks, func(shard uint16) (newest ChunkVersion) {
		for _, s := range t.groups {
			if on := s.totals.totalOf(shard); newest.Compare(on.newest) < 0 {
				newest = on.newest
			}
		}
		return newest
	})
}
