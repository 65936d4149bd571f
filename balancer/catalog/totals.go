package catalog

import "slices"

// shardTotals contains the totals of each shard in a table or in a group of blocks, by the number of the shard.
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

// totalOf returns the totals of a shard.
func (t shardTotals) totalOf(shard uint16) shardTotal {
	if int(shard) >= len(t) {
		return shardTotal{}
	}
	return t[shard]
}

// replaceBlocks subtracts the summaries of removed blocks from the totals and adds those of added
// blocks. If the newest chunk of a shard was removed, newest returns the version of its newest chunk
// now.
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

// hasNewest reports whether other blocks contain the newest chunk of a shard's ownership in one block.
func hasNewest(blocks []*block, o ownership) bool {
	return slices.ContainsFunc(blocks, func(b *block) bool {
		is := b.ownershipOf(o.shard)
		return is != nil && is.newest == o.newest
	})
}
