package catalog

import "iter"

// ChunksFromVersion returns the chunks with this version or a newer one, in key order, like an
// incremental read of config.chunks. Blocks with only older chunks are skipped.
func (t *RoutingTable) ChunksFromVersion(v ChunkVersion) iter.Seq[Chunk] {
	return t.filterChunks(
		func(o *ownership) bool { return o.newest.Compare(v) >= 0 },
		func(b *block, i int) bool { return b.rows[i].version.Compare(v) >= 0 })
}

// JumboChunks returns the chunks with the jumbo flag, in key order. Blocks without such chunks are
// skipped.
func (t *RoutingTable) JumboChunks() iter.Seq[Chunk] {
	return t.filterChunks(
		func(o *ownership) bool { return o.jumbo > 0 },
		func(b *block, i int) bool { return b.rows[i].flags.isJumbo() })
}

// ChunksWithEstimate returns the chunks with an estimate, in key order. Blocks without such chunks are
// skipped.
func (t *RoutingTable) ChunksWithEstimate() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		slab := historySlab{size: minSlab}
		var c Chunk
		for b := range t.allBlocks() {
			for i, size := range b.sizes {
				if !size.Known() {
					continue
				}
				if b.readChunk(i, t.shards.names, &slab, &c); !yield(c) {
					return
				}
			}
		}
	}
}

// filterChunks returns the chunks for which wanted returns true, in blocks in which hasAny returns true for
// the part of a shard.
func (t *RoutingTable) filterChunks(hasAny func(*ownership) bool, wanted func(*block, int) bool) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		slab := historySlab{size: minSlab}
		var c Chunk
		for b := range t.allBlocks() {
			if !b.anyOwner(hasAny) {
				continue
			}
			for i := range b.rows {
				if !wanted(b, i) {
					continue
				}
				if b.readChunk(i, t.shards.names, &slab, &c); !yield(c) {
					return
				}
			}
		}
	}
}

func (b *block) anyOwner(hasAny func(*ownership) bool) bool {
	for i := range b.owned {
		if hasAny(&b.owned[i]) {
			return true
		}
	}
	return false
}
