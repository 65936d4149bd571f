package action

import (
	"cmp"
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// withOutlines limits the read of a large cluster: of collections in which the balancer has nothing to
// do for a goal, only the outlines are kept.
func (s Source) withOutlines(ctx context.Context, goal plan.Goal, o live.ReaderOptions) live.ReaderOptions {
	switch goal.Kind {
	case "", plan.Balance, plan.Drain, plan.Zones, plan.Consolidate:
	default: // all collections may need steps
		return o
	}
	if s.Client == nil || s.countChunks(ctx) <= cmp.Or(s.maxFullTableChunks, defaultMaxFullTableChunks) {
		return o
	}
	if o.Parts == 0 {
		o.Parts = live.DefaultParts
	}
	o.Parts |= live.ChunkCounts
	o.WantsTable = func(*catalog.Snapshot, *catalog.CollectionState) bool { return true }
	o.WantsOutline = settledFilter(goal)
	return o
}

// settledFilter returns a function that selects the collections in which there is nothing to do for a
// goal.
func settledFilter(goal plan.Goal) func(*catalog.Snapshot, *catalog.CollectionState) bool {
	if goal.Kind != plan.Drain {
		return diagnosis.IsSettled
	}
	var once sync.Once
	var draining *catalog.Snapshot
	return func(s *catalog.Snapshot, c *catalog.CollectionState) bool {
		once.Do(func() {
			if shard, ok := s.Shard(goal.Shard); ok {
				shard.Draining = true
				draining = s.WithShard(shard)
			}
		})
		return draining != nil && diagnosis.IsSettled(draining, c)
	}
}

// countChunks returns the approximate number of chunks of the cluster, from the document count of the
// config server; 0 if the count is not available.
func (s Source) countChunks(ctx context.Context) int64 {
	reply, err := live.NewCommandRunner(s.Client).RunCommand(ctx, "config", bson.D{
		{Key: "count", Value: "chunks"}, {Key: "maxTimeMS", Value: 5000},
	})
	if err != nil {
		return 0
	}
	n, _ := reply.Lookup("n").AsInt64OK()
	return n
}
