package catalog

import "slices"

// shardTotals sum up what each shard has in a table or on a shelf, by number.
type shardTotals []shardTotal

type shardTotal struct {
	chunks, jumbo int32
	newest        ChunkVersion
}

func (s *shardTotal) add(o ownership) {
	s.chunks += int32(o.chunks)
	s.jumbo += int32(o.jumbo)
	if s.newest.Compare(o.newest) < 0 {
		s.newest = o.newest
	}
}

// totalOf returns what a shard has.
func (t shardTotals) totalOf(shard uint16) shardTotal {
	if int(shard) >= len(t) {
		return shardTotal{}
	}
	return t[shard]
}

// replaceBlocks takes the summaries of removed blocks off the totals and adds those of
// others. If the newest chunk of a shard was removed, newest returns which one
// now is.
func (t *shardTotals) replaceBlocks(removed, added []*block, newest func(shard uint16) ChunkVersion) {
	for _, b := range removed {
		for i := range b.owned {
			o := &b.owned[i]
			total := &(*t)[o.shard]
			total.chunks -= int32(o.chunks)
			total.jumbo -= int32(o.jumbo)
		}
	}
	for _, b := range added {
		if n := len(b.owned); n > 0 && int(b.owned[n-1].shard) >= len(*t) {
			*t = append(*t, make(shardTotals, int(b.owned[n-1].shard)+1-len(*t))...)
		}
		for _, o := range b.owned {
			(*t)[o.shard].add(o)
		}
	}
	for _, b := range removed {
		for i := range b.owned {
			o := &b.owned[i]
			total := &(*t)[o.shard]
			if o.newest != total.newest || hasNewest(added, *o) {
				continue
			}
			total.newest = ChunkVersion{}
			if total.chunks > 0 {
				total.newest = newest(o.shard)
			}
		}
	}
}

// hasNewest reports whether the newest chunk of a shard in one block is in others.
func hasNewest(blocks []*block, o ownership) bool {
	return slices.ContainsFunc(blocks, func(b *block) bool {
		is := b.ownershipOf(o.shard)
		return is != nil && is.newest == o.newest
	})
}
