package action

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Defragment merges the small chunks of collections, and moves those that need a
// neighbour.
type Defragment struct {
	// Namespaces are the collections, by name or pattern; Resume has its own.
	Namespaces []string
	RunOptions
}

// Validate refuses options that exclude each other.
func (d Defragment) Validate() error {
	if len(d.Namespaces) == 0 && d.Resume == "" {
		return refuse("defragment needs {ns}")
	}
	return d.RunOptions.validate()
}

// Run makes a plan and carries it out.
func (d Defragment) Run(ctx context.Context, c Cluster, r Reporter) (PlanResult, error) {
	if err := d.Validate(); err != nil {
		return PlanResult{}, err
	}
	return aim{
		kind: plan.Defragment, RunOptions: d.RunOptions, namespaces: d.Namespaces,
		goal: func(context.Context, *catalog.Snapshot) (plan.Goal, error) {
			return plan.Goal{Kind: plan.Defragment, Namespaces: d.Namespaces}, nil
		},
	}.run(ctx, c, &serial{next: r})
}
