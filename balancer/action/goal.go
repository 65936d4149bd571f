package action

import (
	"context"
	"errors"
	"fmt"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
)

// runGoal is a goal that a plan is made for when it is to be carried out.
type runGoal struct {
	kind plan.GoalKind
	RunOptions
	// namespaces are the collections that it is about; none is all.
	namespaces []string
	// goal says what is to be reached on a cluster.
	goal func(ctx context.Context, s *catalog.Snapshot) (plan.Goal, error)
	// checkPlan checks that the plan of a journal is of what was asked for; nil for all.
	checkPlan func(p *plan.Plan) error
	// preflightRun is that of the run of its plan.
	preflightRun preflight.Run
	// addHooks and alsoMoves are those of a job.
	addHooks  func(*leasedRun, *apply.Execution, *apply.Options)
	alsoMoves func(ctx context.Context) ([]string, error)
}

// run plans, unless a journal has the plan, and carries it out. When the cluster moves
// on another plan takes over.
func (a runGoal) run(ctx context.Context, c Cluster, r *serial) (PlanResult, error) {
	c, err := c.withTimeZone(a.TimeZone)
	if err != nil {
		return PlanResult{}, err
	}
	open := func() (*apply.Execution, error) { return a.resume() }
	var read *catalog.Snapshot
	if a.DiskLimit, err = c.diskLimit(a.DiskLimit); err != nil {
		return PlanResult{}, err
	}
	if a.Resume == "" {
		var p *plan.Plan
		if read, p, err = a.plan(ctx, c, r); err != nil {
			return a.resultWithoutPlan(ctx, c, read, err)
		}
		open = func() (*apply.Execution, error) { return a.begin(c, p) }
	}
	return planRun{
		verb: string(a.kind), RunOptions: a.RunOptions, onChange: apply.Replan, open: open, goal: true, addHooks: a.addHooks,
		alsoMoves: a.alsoMoves, preflightRun: a.preflightRun, plannedFrom: func() *catalog.Snapshot { return read },
	}.run(ctx, c, r)
}

func (a runGoal) resume() (*apply.Execution, error) {
	work, err := apply.Resume(a.Resume)
	if err != nil {
		return nil, err
	}
	if kind := work.Plan.Goal.Kind; kind != a.kind {
		err = fmt.Errorf("%s has another goal, %s: resume it with shardsh apply --resume", a.Resume, kind)
	} else if a.checkPlan != nil {
		err = a.checkPlan(work.Plan)
	}
	if err != nil {
		_ = work.Close() // nothing was written
		return nil, err
	}
	return work, nil
}

// plan reads the cluster and makes a plan from it.
func (a runGoal) plan(ctx context.Context, c Cluster, r *serial) (*catalog.Snapshot, *plan.Plan, error) {
	s, err := c.withDiskLimit(a.DiskLimit).snapshot(ctx, a.namespaces, r)
	if err != nil {
		return nil, nil, err
	}
	goal, err := a.goal(ctx, s)
	if err != nil {
		return s, nil, err
	}
	p, err := c.compute(func() (*plan.Plan, error) {
		return plan.Make(s, plan.Options{
			Goal: goal, IgnoreWindow: true, Limits: plan.Limits{Disk: a.DiskLimit},
			IgnoreJumboFlags: a.ForceJumbo && a.kind == plan.Balance,
		})
	})
	return s, p, err
}

// resultWithoutPlan returns the result of a run without a plan; a preflight reports the error among the
// obstacles.
func (a runGoal) resultWithoutPlan(
	ctx context.Context,
	c Cluster,
	read *catalog.Snapshot,
	err error,
) (PlanResult, error) {
	already, is := errors.AsType[*alreadyError](err)
	if !a.Preflight || read == nil {
		return PlanResult{}, err
	}
	run := a.preflightRun
	run.Verb, run.Namespaces = string(a.kind), a.namespaces
	if is {
		return PlanResult{Already: already.what, Preflight: &preflight.Report{
			Verb: run.Verb, Ready: true, Time: read.Time(), Obstacles: []preflight.Obstacle{},
		}}, nil
	}
	report, looked := c.preflight(ctx, a.PreflightOptions, run, read, err)
	return PlanResult{Preflight: &report}, looked
}
