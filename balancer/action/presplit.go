package action

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Presplit splits a collection and distributes its chunks over the shards.
type Presplit struct {
	PresplitMethod
	RunOptions
}

// Validate refuses options that exclude each other.
func (p Presplit) Validate() error {
	if p.ResumeJournal == "" {
		if p.Namespace == "" {
			return refuse("presplit needs {ns}")
		}
		if err := p.PresplitMethod.Validate(); err != nil {
			return err
		}
	}
	return p.RunOptions.validate()
}

// Run makes a plan and executes it.
func (p Presplit) Run(ctx context.Context, c Cluster, r Reporter) (PlanResult, error) {
	if err := p.Validate(); err != nil {
		return PlanResult{}, err
	}
	return goalRun{
		kind: plan.Presplit, RunOptions: p.RunOptions, namespaces: []string{p.Namespace},
		goal: func(ctx context.Context, s *catalog.Snapshot) (plan.Goal, error) { return p.Goal(ctx, c.Client, s) },
	}.run(ctx, c, &serialReporter{next: r})
}
