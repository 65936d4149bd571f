package action

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
)

// planRun is a plan to execute, with the parts of the run besides its steps.
type planRun struct {
	verb string
	RunOptions
	changePolicy apply.ChangePolicy
	// approvedHash is the hash of the only plan that may be executed; empty allows any plan.
	approvedHash string
	// openJournal opens and locks the journal, and returns the execution with its plan.
	openJournal func() (*apply.Execution, error)
	// hasGoal says that the run has a goal, and not only steps.
	hasGoal bool
	// preflightRun is the input of the preflight besides the plan. planSnapshot returns the snapshot
	// from which the plan was just made, or nil.
	preflightRun preflight.Run
	planSnapshot func() *catalog.Snapshot
	// addHooks adds work besides the steps; nil adds nothing.
	addHooks func(l *leasedRun, work *apply.Execution, o *apply.Options)
	// otherMovedNamespaces returns collections that move in addition to those of the steps; nil means none.
	otherMovedNamespaces func(ctx context.Context) ([]string, error)
}

// run opens the journal, lets the user confirm its plan, and takes the lease of the cluster. The plan
// that is shown is the plan that is executed. The lease is not held while the user is asked.
func (p planRun) run(ctx context.Context, c Cluster, r *serialReporter) (result PlanResult, err error) {
	if c, err = c.withTimeZone(p.TimeZone); err != nil {
		return result, err
	}
	work, err := p.openJournal()
	if err != nil {
		return result, err
	}
	defer func() { err = c.withRoles(ctx, err) }()
	defer func() {
		if closed := work.Close(); closed != nil {
			err = errors.Join(err, closed)
			result.Finished, result.Error = false, err.Error()
		}
	}()
	if err := p.checkAndSetLimits(ctx, c, work.Plan); err != nil {
		return result, err
	}
	r.Report(Planned{work.Plan})
	dryRun := p.isDryRun(c)
	report, err := p.runPreflight(ctx, c, work)
	switch {
	case err != nil:
		return result, err
	case p.PreflightOnly:
		return PlanResult{Preflight: &report}, nil
	}
	if err := checkObstacles(report, dryRun, r); err != nil {
		return result, err
	}
	if dryRun {
		return p.execute(ctx, c, work, nil, r)
	}
	return p.confirmAndExecute(ctx, c, work, r)
}

// isDryRun reports whether this is a dry run.
func (p planRun) isDryRun(c Cluster) bool { return p.DryRun || c.SimulatesChanges }

// checkAndSetLimits returns an error for a plan that a policy or the approval does not permit, and sets the
// limits of the policies and of the plan.
func (p *planRun) checkAndSetLimits(ctx context.Context, c Cluster, planned *plan.Plan) (err error) {
	if p.Pace, err = c.limitPace(p.Pace); err != nil {
		return err
	}
	if !p.isDryRun(c) && !p.PreflightOnly {
		if err := c.checkPermittedNow(ctx, consent.Request{
			Verb: p.verb, Namespaces: changedNamespaces(planned), Approved: p.approvedHash != "",
		}); err != nil {
			return err
		}
	}
	if p.approvedHash != "" {
		if err := planned.CheckApprovedHash(p.approvedHash); err != nil {
			return err
		}
		p.Pace = p.withPlanLimits(planned.Limits)
	}
	if p.DiskLimit == 0 { // the disk limit of the plan is part of the goal
		p.DiskLimit = planned.Limits.Disk
	}
	return nil
}

// confirmAndExecute lets the user confirm a plan, executes it, and writes its start and end to the
// audit log. If requested, it compares the documents before and after.
func (p planRun) confirmAndExecute(ctx context.Context, c Cluster, work *apply.Execution, r *serialReporter) (
	result PlanResult, err error) {
	if err := p.confirm(ctx, "Apply it?"); err != nil {
		return result, err
	}
	c, ended, err := c.beginAudited(ctx, runStart{p.verb, work.Plan.Goal.Namespaces, work.Plan.ID, p.approvedHash})
	if err != nil {
		return result, err
	}
	defer func() { err = ended(result.Stopped, err) }()
	proof, err := p.startVerification(ctx, c, work, r)
	if err != nil {
		return result, err
	}
	return p.execute(ctx, c, work, proof, r)
}

// execute takes the lease and executes the plan. proof is nil if no documents are compared.
func (p planRun) execute(
	ctx context.Context, c Cluster, work *apply.Execution, proof *runVerification, r *serialReporter,
) (result PlanResult, err error) {
	planned, dryRun := work.Plan, p.isDryRun(c)
	var lease atomic.Pointer[live.LeasedCluster]
	gate, leave, err := p.newGate(ctx, c, p.rules(), dryRun, r, &lease)
	if err != nil {
		return result, err
	}
	defer leave()
	recorded := &recorder{CommandRunner: c.runner(), report: r}
	l, err := p.acquireLease(ctx, c, recorded, planned, r)
	if err != nil {
		return result, err
	}
	lease.Store(l.lease)
	r.Report(Started{gate, commentFunc(&lease)})
	did, err := l.run(ctx, work, p.options(l, work, gate, r), p.StopMoves, r)
	if err == nil && p.hasGoal && !dryRun {
		err = unreachedError(did)
	}
	if p.approvedHash != "" {
		err = explainNotApproved(err)
	}
	result = planResult(did, err, dryRun)
	result.Commands = recorded.unsentCommands
	if work.HasRecords() {
		result.Journal = work.Path()
	}
	if p.hasGoal && !dryRun && ctx.Err() == nil {
		result.Collections = c.chunkCounts(ctx, planned)
	}
	if proof != nil {
		var failed error
		result.Verify, failed = proof.compare(ctx)
		err = errors.Join(err, failed)
	}
	return result, err
}

// acquireLease takes the lease of the cluster. A dry run takes none, and its commands are recorded.
func (p planRun) acquireLease(
	ctx context.Context, c Cluster, recorded *recorder, planned *plan.Plan, r *serialReporter,
) (*leasedRun, error) {
	runner := c.runner()
	if p.DryRun {
		runner = recorded
	}
	l, err := c.acquire(ctx, runner, p.verb+" "+planned.ID, p.isDryRun(c))
	if err != nil {
		return nil, err
	}
	l.pace = p.Pace
	if l.restoredNote != "" {
		r.note(l.restoredNote)
	}
	if p.approvedHash != "" {
		l.steps = approvedStepper{l.steps, planned}
	}
	return l, nil
}

// changedNamespaces returns the collections that the steps of a plan change.
func changedNamespaces(p *plan.Plan) (names []string) {
	for _, s := range p.Steps {
		if !slices.Contains(names, s.Namespace) {
			names = append(names, s.Namespace)
		}
	}
	return names
}

// checkExecutable returns the reason why the steps of a plan can't be executed on the cluster in its
// current state; nil if they can. Otherwise a run would find the reason only with the lease, before its
// first step.
func (p planRun) checkExecutable(ctx context.Context, c Cluster, work *apply.Execution) error {
	recorded := &recorder{CommandRunner: c.runner(), report: &serialReporter{}}
	l, err := c.acquire(ctx, recorded, p.verb, true)
	if err != nil {
		return err
	}
	o := apply.Options{DryRun: true, PauseBalancing: p.PauseBalancing, Clock: l.Clock}
	if p.addHooks != nil {
		p.addHooks(l, work, &o)
	}
	_, err = l.run(ctx, work, o, nil, &serialReporter{})
	switch {
	case errors.As(err, new(*apply.BalancerConflictError)): // the preflight reports it separately
		return nil
	case p.changePolicy == apply.ReplanOnChange && errors.As(err, new(*apply.ChangedError)): // the run makes a new plan
		return nil
	}
	return err
}

// runPreflight checks for obstacles of the remaining steps of a plan.
func (p planRun) runPreflight(ctx context.Context, c Cluster, work *apply.Execution) (preflight.Report, error) {
	var misfit error
	if p.PreflightOnly && !p.hasGoal {
		misfit = p.checkExecutable(ctx, c, work)
	}
	run := p.preflightRun
	left := *work.Plan
	left.Steps = work.RemainingSteps()
	run.Verb, run.Plan = p.verb, &left
	run.ForceJumbo, run.PauseBalancing = p.ForceJumbo, p.PauseBalancing
	run.Limited = p.MaxMoves > 0 || p.MaxBytes > 0 || p.MaxDuration > 0
	if p.hasGoal && work.Plan.Goal.Kind == plan.Drain {
		run.Shard = work.Plan.Goal.Shard
	}
	var had *catalog.Snapshot
	if p.planSnapshot != nil {
		had = p.planSnapshot()
	}
	return c.preflight(ctx, p.PreflightOptions, run, had, misfit)
}

func (p planRun) options(l *leasedRun, work *apply.Execution, gate *pace.Gate, r *serialReporter) apply.Options {
	o := apply.Options{
		DryRun: l.lease == nil, ChangePolicy: p.changePolicy, PauseBalancing: p.PauseBalancing, Parallel: p.Parallel,
		ForceJumbo: p.ForceJumbo,
		Clock:      l.Clock, Gate: gate, MovesContext: p.AbortContext, ReportTick: p.ReportTick,
		OnEvent: func(e apply.Event) {
			if p := e.Progress; p.Steps > 0 {
				gate.SetRemaining(pace.Remaining{Bytes: p.Bytes - p.BytesDone, Steps: p.Steps - p.StepsDone})
			}
			r.Report(StepEvent{e})
		},
	}
	if p.addHooks != nil {
		p.addHooks(l, work, &o)
	}
	return o
}

// createJournal creates the journal of a plan, unless NoJournal is set.
func (r RunOptions) createJournal(c Cluster, p *plan.Plan) (*apply.Execution, error) {
	path := r.Journal
	switch {
	case r.NoJournal, r.DryRun, r.PreflightOnly, c.SimulatesChanges:
		path = ""
	case path == "":
		path = p.ID + ".journal"
	}
	return apply.Begin(p, path)
}
