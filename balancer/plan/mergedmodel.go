package plan

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// MeasuredAfterMerges returns the model Measured for a cluster in which these steps have merged chunks.
// The data of a shard are distributed evenly over its chunks, and a chunk that was merged from eight
// counts as eight. If it counted as one, its size would be greatly underestimated, and too much would
// move.
func MeasuredAfterMerges(steps []Step) ChunkModel {
	return ChunkModel{Measured, func(c *catalog.CollectionState, chunkSize int64) func(catalog.Chunk) sim.Amount {
		counts := chunkCounts(c, steps)
		if len(counts) == 0 || len(c.ChunkSizes) > 0 || len(c.Sampled) > 0 {
			return sim.Measured(c, chunkSize)
		}
		all := map[catalog.ShardID]float64{}
		for id := range c.Sizes {
			all[id] = float64(c.Table.CountOn(id))
		}
		for lower, n := range counts {
			all[c.Table.ShardOf(lower)] += n - 1
		}
		even := sim.Even(c, chunkSize)
		return func(chunk catalog.Chunk) sim.Amount {
			data, known := c.Sizes[chunk.Shard]
			if !known {
				return even(chunk)
			}
			n, merged := counts[chunk.Min]
			if !merged {
				n = 1
			}
			f := n / max(1, all[chunk.Shard])
			return sim.Amount{Documents: int64(f * float64(data.Documents)), Bytes: int64(f * float64(data.Bytes))}
		}
	}}
}

// chunkCounts returns, by lower bound, the number of chunks from which the chunks in merged ranges were
// made. If a merged chunk was split again, its parts share the number.
func chunkCounts(c *catalog.CollectionState, steps []Step) map[catalog.Key]float64 {
	counts := map[catalog.Key]float64{}
	for _, s := range steps {
		if s.Kind != Merge || s.Namespace != c.Namespace || c.Table == nil {
			continue
		}
		var parts []catalog.Key
		for chunk := range c.Table.Overlapping(s.Min, s.Max) {
			parts = append(parts, chunk.Min)
		}
		if len(parts) > s.Chunks {
			continue // the range has as many chunks as before the merge
		}
		for _, lower := range parts {
			counts[lower] += float64(s.Chunks) / float64(len(parts))
		}
	}
	return counts
}
