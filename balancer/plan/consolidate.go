package plan

import (
	"math"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

// addConsolidation adds merges of all adjacent chunks on a shard that can be merged, whatever their
// age. A round has one merge on each shard.
func (b *builder) addConsolidation() {
	b.balancerIdle, b.endSnapshot = true, b.input.start
	var work [][]mergeRun
	for _, shard := range b.input.start.Shards() {
		var runs []mergeRun
		for _, c := range b.input.colls {
			runs = append(runs, findMergeRuns(c, shard.ID)...)
		}
		if len(runs) > 0 {
			work = append(work, runs)
		}
	}
	at := b.input.start.Time()
	for len(work) > 0 && !b.closed {
		left := work[:0]
		for _, runs := range work {
			b.addEvent(sim.Event{
				Kind: sim.Merged, Began: at, Ended: at.Add(b.o.Costs.Merge), Namespace: runs[0].ns, From: runs[0].shard,
				Min: runs[0].min, Max: runs[0].max, Chunks: runs[0].chunks,
			})
			if runs = runs[1:]; len(runs) > 0 {
				left = append(left, runs)
			}
		}
		work = left
		at = at.Add(b.o.Costs.Merge)
		b.engineRound++
	}
}

// mergeRun is a sequence of adjacent chunks on a shard that can be merged.
type mergeRun struct {
	ns       string
	shard    catalog.ShardID
	min, max catalog.Key
	chunks   int
}

func findMergeRuns(c *catalog.CollectionState, id catalog.ShardID) (list []mergeRun) {
	if c.Table == nil { // the collection has no adjacent chunks on one shard
		return nil
	}
	runs := policy.MergeableRuns(policy.MergeSearch{
		Table: c.Table, Zones: c.Zones, Shard: id, AnyAge: true,
		Limits: policy.MergeLimits{Chunks: math.MaxInt, Time: math.MaxInt64 * time.Nanosecond},
	})
	for _, run := range runs {
		list = append(list, mergeRun{c.Namespace, id, run[0].Min, run[len(run)-1].Max, len(run)})
	}
	return list
}
