package check

import (
	"cmp"
	"math"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Deviation is how far a shard is from its fair share of a collection.
type Deviation struct {
	Shard catalog.ShardID
	// ActualBytes and ShareBytes are bytes; Bytes is what it has above its share, less than 0
	// below it, and Percent the same as a part of the share.
	ActualBytes, ShareBytes, ExcessBytes, ExcessPercent float64
}

// Deviations returns those of all shards that can have their share; nil where
// there is no fair share: without data or sizes, and where zones say who has what.
func Deviations(s *catalog.Snapshot, c *catalog.CollectionState) (list []Deviation) {
	if len(c.Sizes) == 0 || len(diagnosis.Zones(s, c.Namespace)) > 0 {
		return nil
	}
	total := 0.0
	for _, data := range c.Sizes {
		total += float64(data.Bytes)
	}
	for _, shard := range s.Shards() {
		if !shard.Draining && shard.Unreachable == "" {
			list = append(list, Deviation{Shard: shard.ID, ActualBytes: float64(c.Sizes[shard.ID].Bytes)})
		}
	}
	if total == 0 {
		return nil
	}
	for i := range list {
		d := &list[i]
		d.ShareBytes = total / float64(len(list))
		d.ExcessBytes = d.ActualBytes - d.ShareBytes
		d.ExcessPercent = 100 * d.ExcessBytes / d.ShareBytes
	}
	return list
}

func cmpAbs(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }
