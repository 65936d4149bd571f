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

// goalRun is a goal for which a plan is made and executed.
type goalRun struct {
	kind plan.GoalKind
	RunOptions
	// namespaces are the collections of the goal; none means all.
	namespaces []string
	// goal returns the goal on a cluster.
	goal func(ctx context.Context, s *catalog.Snapshot) (plan.Goal, error)
	// checkPlan checks that the plan of a journal matches the options; nil accepts all plans.
	checkPlan func(p *plan.Plan) error
	// preflightRun is the input of the preflight checks.
	preflightRun preflight.Run
	// addHooks adds what a drain does besides its steps, and otherMovedNamespaces returns what it moves besides them;
	// other goals have neither.
	addHooks             func(*leasedRun, *apply.Execution, *apply.Options)
	otherMovedNamespaces func(ctx context.Context) ([]string, error)
}

// run makes a plan, unless a journal contains the plan, and executes it. If the cluster has changed,
// run makes a new plan.
func (g goalRun) run(ctx context.Context, c Cluster, r *serialReporter) (PlanResult, error) {
	c, err := c.withTimeZone(g.TimeZone)
	if err != nil {
		return PlanResult{}, err
	}
	open := func() (*apply.Execution, error) { return g.resume() }
	var read *catalog.Snapshot
	if g.DiskLimit, err = c.diskLimit(g.DiskLimit); err != nil {
		return PlanResult{}, err
	}
	if g.ResumeJournal == "" {
		var p *plan.Plan
		if read, p, err = g.plan(ctx, c, r); err != nil {
			return g.resultWithoutPlan(ctx, c, read, err)
		}
		open = func() (*apply.Execution, error) { return g.createJournal(c, p) }
	}
	return planRun{
		verb: string(g.kind), RunOptions: g.RunOptions, changePolicy: apply.ReplanOnChange, openJournal: open, hasGoal: true,
		addHooks:             g.addHooks,
		otherMovedNamespaces: g.otherMovedNamespaces, preflightRun: g.preflightRun,
		planSnapshot: func() *catalog.Snapshot { return read },
	}.run(ctx, c, r)
}

func (g goalRun) resume() (*apply.Execution, error) {
	work, err := apply.Resume(g.ResumeJournal)
	if err != nil {
		return nil, err
	}
	if kind := work.Plan.Goal.Kind; kind != g.kind {
		err = fmt.Errorf("%s has another goal, %s: resume it with shardsh apply --resume", g.ResumeJournal, kind)
	} else if g.checkPlan != nil {
		err = g.checkPlan(work.Plan)
	}
	if err != nil {
		_ = work.Close() // nothing was written
		return nil, err
	}
	return work, nil
}

// plan reads the cluster and makes a plan.
func (g goalRun) plan(ctx context.Context, c Cluster, r *serialReporter) (*catalog.Snapshot, *plan.Plan, error) {
	s, err := c.withDiskLimit(g.DiskLimit).snapshot(ctx, g.namespaces, r)
	if err != nil {
		return nil, nil, err
	}
	goal, err := g.goal(ctx, s)
	if err != nil {
		return s, nil, err
	}
	p, err := c.compute(func() (*plan.Plan, error) {
		return plan.Make(s, plan.Options{
			Goal: goal, IgnoreWindow: true, Limits: plan.Limits{Disk: g.DiskLimit},
			IgnoreJumboFlags: g.ForceJumbo && g.kind == plan.Balance,
		})
	})
	return s, p, err
}

// resultWithoutPlan returns the result of a run that could not make a plan. A preflight reports the
// error as one of the obstacles.
func (g goalRun) resultWithoutPlan(
	ctx context.Context,
	c Cluster,
	read *catalog.Snapshot,
	err error,
) (PlanResult, error) {
	already, ok := errors.AsType[*goalReachedError](err)
	if !g.PreflightOnly || read == nil {
		return PlanResult{}, err
	}
	run := g.preflightRun
	run.Verb, run.Namespaces = string(g.kind), g.namespaces
	if ok {
		return PlanResult{AlreadyReachedText: already.what, Preflight: &preflight.Report{
			Verb: run.Verb, Ready: true, Time: read.Time(), Obstacles: []preflight.Obstacle{},
		}}, nil
	}
	report, looked := c.preflight(ctx, g.PreflightOptions, run, read, err)
	return PlanResult{Preflight: &report}, looked
}
