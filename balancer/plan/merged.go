package plan

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// MeasuredAfterMerges is the model Measured for a cluster in which these steps have merged chunks. What
// shards have is spread evenly over their chunks, and one that was made of eight counts as eight: as
// one it would be taken for far too small, and too much would move.
func MeasuredAfterMerges(steps []Step) Model {
	return Model{Measured, func(c *catalog.CollectionState, chunkSize int64) func(catalog.Chunk) sim.Amount {
		counts := chunkCounts(c, steps)
		if len(counts) == 0 || len(c.ChunkSizes) > 0 || len(c.Sampled) > 0 {
			return sim.Measured(c, chunkSize)
		}
		all := map[catalog.ShardID]float64{}
		for id := range c.Sizes {
			all[id] = float64(c.Table.Count(id))
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

// chunkCounts returns, by lower bound, as how many chunks the chunks count that lie in ranges that were
// merged. What was cut again shares it.
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
			continue // it is in as many pieces as it was before
		}
		for _, lower := range parts {
			counts[lower] += float64(s.Chunks) / float64(len(parts))
		}
	}
	return counts
}
