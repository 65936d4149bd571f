package catalog

import "iter"

// ChunksFromVersion returns the chunks with a version or a newer one, in key order: what an
// incremental read of config.chunks asks for. Blocks in which all are older are
// skipped.
func (t *RoutingTable) ChunksFromVersion(v ChunkVersion) iter.Seq[Chunk] {
	return t.filterChunks(
		func(o *ownership) bool { return o.newest.Compare(v) >= 0 },
		func(b *block, i int) bool { return b.rows[i].version.Compare(v) >= 0 })
}

// JumboChunks returns the chunks that are flagged jumbo, in key order. Blocks in
// which none is are skipped.
func (t *RoutingTable) JumboChunks() iter.Seq[Chunk] {
	return t.filterChunks(
		func(o *ownership) bool { return o.jumbo > 0 },
		func(b *block, i int) bool { return b.rows[i].flags.isJumbo() })
}

// ChunksWithEstimate returns the chunks with an estimate, in key order. Blocks in which
// none has one are skipped.
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

// filterChunks returns the wanted chunks of blocks in which some shard's part may
// have such.
func (t *RoutingTable) filterChunks(in func(*ownership) bool, wanted func(*block, int) bool) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		slab := historySlab{size: minSlab}
		var c Chunk
		for b := range t.allBlocks() {
			if !b.anyOwner(in) {
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

func (b *block) anyOwner(in func(*ownership) bool) bool {
	for i := range b.owned {
		if in(&b.owned[i]) {
			return true
		}
	}
	return false
}
