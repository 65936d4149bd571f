package action

import (
	"context"
	"fmt"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// aim is a goal that a plan is made for when it is to be carried out.
type aim struct {
	kind plan.GoalKind
	RunOptions
	// namespaces are the collections that it is about; none is all.
	namespaces []string
	// goal says what is to be reached on a cluster.
	goal func(ctx context.Context, s *catalog.Snapshot) (plan.Goal, error)
	// fits checks that the plan of a journal is of what was asked for; nil for all.
	fits func(p *plan.Plan) error
	// around is that of a job.
	around func(*leased, *apply.Execution, *apply.Options)
}

// run plans, unless a journal has the plan, and carries it out. When the cluster moves
// on another plan takes over.
func (a aim) run(ctx context.Context, c Cluster, r *serial) (PlanResult, error) {
	c, err := c.in(a.TimeZone)
	if err != nil {
		return PlanResult{}, err
	}
	open := func() (*apply.Execution, error) { return a.resume() }
	if a.Resume == "" {
		p, err := a.plan(ctx, c, r)
		if err != nil {
			return PlanResult{}, err
		}
		open = func() (*apply.Execution, error) { return a.begin(c, p) }
	}
	return job{
		verb: string(a.kind), RunOptions: a.RunOptions, onChange: apply.Replan, open: open, goal: true, around: a.around,
	}.run(ctx, c, r)
}

func (a aim) resume() (*apply.Execution, error) {
	work, err := apply.Resume(a.Resume)
	if err != nil {
		return nil, err
	}
	if kind := work.Plan.Goal.Kind; kind != a.kind {
		err = fmt.Errorf("%s has another goal, %s: resume it with shardsh apply --resume", a.Resume, kind)
	} else if a.fits != nil {
		err = a.fits(work.Plan)
	}
	if err != nil {
		_ = work.Close() // nothing was written
		return nil, err
	}
	return work, nil
}

func (a aim) plan(ctx context.Context, c Cluster, r *serial) (*plan.Plan, error) {
	s, err := c.snapshot(ctx, a.namespaces, r)
	if err != nil {
		return nil, err
	}
	goal, err := a.goal(ctx, s)
	if err != nil {
		return nil, err
	}
	return c.compute(func() (*plan.Plan, error) { return plan.Make(s, plan.Options{Goal: goal, IgnoreWindow: true}) })
}
