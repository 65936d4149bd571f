package action

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Defragment merges the small chunks of collections, and moves small chunks that have no neighbour to
// merge with on their shard.
type Defragment struct {
	// Namespaces are the collections, by name or pattern; All selects all collections. With Resume, the
	// journal says which collections.
	Namespaces []string
	All        bool
	RunOptions
}

// Validate refuses options that exclude each other.
func (d Defragment) Validate() error {
	if err := d.RunOptions.validate(); err != nil || d.ResumeJournal != "" && !d.All {
		return err
	}
	return requireNamespaces(d.Namespaces, d.All)
}

// Run makes a plan and executes it.
func (d Defragment) Run(ctx context.Context, c Cluster, r Reporter) (PlanResult, error) {
	if err := d.Validate(); err != nil {
		return PlanResult{}, err
	}
	return d.newGoalRun().run(ctx, c, &serialReporter{next: r})
}

func (d Defragment) newGoalRun() goalRun {
	return goalRun{
		kind: plan.Defragment, RunOptions: d.RunOptions, namespaces: d.Namespaces,
		goal: func(context.Context, *catalog.Snapshot) (plan.Goal, error) {
			return plan.Goal{Kind: plan.Defragment, Namespaces: d.Namespaces}, nil
		},
	}
}
