package action

import (
	"cmp"
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// OpsPreview is the result of a dry run for the goal ops. Each round counts operations again, so the moves
// can't be predicted.
type OpsPreview struct {
	Seconds     float64                              `json:"seconds"`
	Collections map[string]map[catalog.ShardID]int64 `json:"collections"`
}

// previewOps counts the operations of the collections of a run for a time.
func (b Balance) previewOps(ctx context.Context, c Cluster) (OpsPreview, error) {
	steps, err := live.NewStepExecutor(ctx, live.NewCommandRunner(c.Client))
	if err != nil {
		return OpsPreview{}, &NoAnswerError{err}
	}
	look, err := steps.Snapshot(ctx, nil)
	if err != nil {
		return OpsPreview{}, &NoAnswerError{err}
	}
	names, err := plan.MatchNamespaces(look, b.Namespaces)
	if err != nil {
		return OpsPreview{}, err
	}
	interval := cmp.Or(b.OpsInterval, time.Minute)
	counted, err := runner.CountOperations(ctx, steps, c.Clock, interval, runner.WithoutServerOwned(names, b.Namespaces))
	for _, shards := range counted {
		for _, s := range look.Shards() {
			shards[s.ID] += 0 // a shard without chunks is not asked
		}
	}
	return OpsPreview{interval.Seconds(), counted}, err
}
