package catalog

import (
	"cmp"
	"slices"
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

// Unflagged returns the table in which no chunk of a shard is flagged jumbo, or of any shard
// if it is empty.
func (t *RoutingTable) Unflagged(on ShardID) (*RoutingTable, error) {
	var changed []Chunk
	for c := range t.Flagged() {
		if on == "" || c.Shard == on {
			c.Jumbo = JumboUnset
			changed = append(changed, c)
		}
	}
	return t.Apply(changed)
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
	w       tableWriter   // its blocks are those added
	shelves []*blockGroup // of the new table
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

// sum brings the totals up to date. The shelves, which are, tell the newest chunk of
// a shard.
func (a *application) sum(t *RoutingTable) {
	t.totals = make(shardTotals, len(t.shards.names))
	copy(t.totals, a.old.totals)
	t.totals.exchange(a.removed, a.w.blocks, func(shard uint16) (newest ChunkVersion) {
		for _, s := range t.shelves {
			if on := s.owned.of(shard); newest.Compare(on.newest) < 0 {
				newest = on.newest
			}
		}
		return newest
	})
}
