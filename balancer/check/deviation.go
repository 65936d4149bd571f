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
	// Has and Share are bytes; Bytes is what it has above its share, less than 0
	// below it, and Percent the same as a part of the share.
	Has, Share, Bytes, Percent float64
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
			list = append(list, Deviation{Shard: shard.ID, Has: float64(c.Sizes[shard.ID].Bytes)})
		}
	}
	if total == 0 {
		return nil
	}
	for i := range list {
		d := &list[i]
		d.Share = total / float64(len(list))
		d.Bytes = d.Has - d.Share
		d.Percent = 100 * d.Bytes / d.Share
	}
	return list
}

func cmpAbs(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }
