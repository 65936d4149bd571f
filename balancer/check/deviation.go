package check

import (
	"cmp"
	"math"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Deviation says how far a shard is from its fair share of a collection.
type Deviation struct {
	Shard catalog.ShardID
	// ActualBytes and ShareBytes are bytes. ExcessBytes is ActualBytes minus ShareBytes, negative below
	// the share, and ExcessPercent is the same in percent of the share.
	ActualBytes, ShareBytes, ExcessBytes, ExcessPercent float64
}

// Deviations returns the deviations of all shards that can have a share of the collection. It returns
// nil where no fair share exists: without data or sizes, and where zones decide which shard has which
// data.
func Deviations(s *catalog.Snapshot, c *catalog.CollectionState) (list []Deviation) {
	if len(c.Sizes) == 0 || len(diagnosis.Zones(s, c.Namespace)) > 0 {
		return nil
	}
	total := 0.0
	for _, data := range c.Sizes {
		total += float64(data.Bytes)
	}
	for _, shard := range s.NonDrainingShards() {
		if shard.Unreachable == "" {
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
