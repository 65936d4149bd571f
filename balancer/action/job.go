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

// job is a plan to carry out, with what belongs to it besides its steps.
type job struct {
	verb string
	RunOptions
	onChange apply.OnChange
	// approved is the hash of the only plan to carry out; empty is any.
	approved string
	// open opens the journal, with its lock, and the plan that it is of.
	open func() (*apply.Execution, error)
	// goal says that there is a goal to reach, and not only steps.
	goal bool
	// before is what the preflight is to know of the run besides its plan; read is the
	// cluster as the plan was made from it just now, or nil.
	before preflight.Run
	read   func() *catalog.Snapshot
	// around sets what is done besides the steps; nil sets nothing.
	around func(l *leased, work *apply.Execution, o *apply.Options)
	// alsoMoves returns collections that move besides those of the steps; nil for none.
	alsoMoves func(ctx context.Context) ([]string, error)
}

// run opens the journal, has the plan confirmed that stands in it, and takes the lease
// of the cluster: what was shown is what is carried out, and nobody waits for a lease
// that is held while somebody is asked.
func (j job) run(ctx context.Context, c Cluster, r *serial) (result PlanResult, err error) {
	if c, err = c.in(j.TimeZone); err != nil {
		return result, err
	}
	work, err := j.open()
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
	planned := work.Plan
	if j.Pace, err = c.bound(j.Pace); err != nil {
		return result, err
	}
	if !j.DryRun && !c.Guarded && !j.Preflight {
		if err := c.permitted(ctx, consent.Order{
			Verb: j.verb, Namespaces: namesOf(planned), Approved: j.approved != "",
		}); err != nil {
			return result, err
		}
	}
	if j.approved != "" {
		if err := planned.Approved(j.approved); err != nil {
			return result, err
		}
		j.Pace = j.within(planned.Limits)
	}
	if j.DiskLimit == 0 { // that of the plan is part of what was asked for
		j.DiskLimit = planned.Limits.Disk
	}
	r.Report(Planned{planned})
	dryRun := j.DryRun || c.Guarded
	var misfit error
	if j.Preflight && !j.goal {
		misfit = j.misfit(ctx, c, work)
	}
	report, err := j.look(ctx, c, work, misfit)
	if err != nil {
		return result, err
	}
	if j.Preflight {
		return PlanResult{Preflight: &report}, nil
	}
	if err := pass(report, dryRun, r); err != nil {
		return result, err
	}
	if !dryRun {
		if err := j.confirm(ctx, "Apply it?"); err != nil {
			return result, err
		}
	}
	if !dryRun {
		var ended func(string, error) error
		c, ended, err = c.begin(ctx, order{j.verb, planned.Goal.Namespaces, planned.ID, j.approved})
		if err != nil {
			return result, err
		}
		defer func() { err = ended(result.Stopped, err) }()
	}
	var proof *proving
	if !dryRun {
		if proof, err = j.prove(ctx, c, work, r); err != nil {
			return result, err
		}
	}
	var lease atomic.Pointer[live.LeasedCluster]
	gate, leave, err := j.gate(ctx, c, j.rules(), dryRun, r, &lease)
	if err != nil {
		return result, err
	}
	defer leave()
	recorded := &recorder{CommandRunner: c.runner(), report: r}
	runner := c.runner()
	if j.DryRun {
		runner = recorded
	}
	l, err := c.acquire(ctx, runner, j.verb+" "+planned.ID, dryRun)
	if err != nil {
		return result, err
	}
	lease.Store(l.lease)
	l.pace = j.Pace
	if l.restored != "" {
		r.note(l.restored)
	}
	if j.approved != "" {
		l.steps = approvedSteps{l.steps, planned}
	}
	r.Report(Started{gate, commentOf(&lease)})
	did, err := l.run(ctx, work, j.options(l, work, gate, r), j.Insist, r)
	if err == nil && j.goal && !dryRun {
		err = unreached(did)
	}
	if j.approved != "" {
		err = notApproved(err)
	}
	result = resultOf(did, err, dryRun)
	result.Commands = recorded.sent
	if work.Acted() {
		result.Journal = work.Path()
	}
	if j.goal && !dryRun && ctx.Err() == nil {
		result.Collections = c.chunkCounts(ctx, planned)
	}
	if proof != nil {
		var failed error
		result.Verify, failed = proof.compare(ctx)
		err = errors.Join(err, failed)
	}
	return result, err
}

// namesOf returns the collections that the steps of a plan change.
func namesOf(p *plan.Plan) (names []string) {
	for _, s := range p.Steps {
		if !slices.Contains(names, s.Namespace) {
			names = append(names, s.Namespace)
		}
	}
	return names
}

// misfit returns why the steps of a plan can't be carried out on the cluster as it is. A run
// finds that out when it has the lease, and before its first step.
func (j job) misfit(ctx context.Context, c Cluster, work *apply.Execution) error {
	recorded := &recorder{CommandRunner: c.runner(), report: &serial{}}
	l, err := c.acquire(ctx, recorded, j.verb, true)
	if err != nil {
		return err
	}
	o := apply.Options{DryRun: true, PauseBalancing: j.PauseBalancing, Clock: l.Clock}
	if j.around != nil {
		j.around(l, work, &o)
	}
	_, err = l.run(ctx, work, o, nil, &serial{})
	switch {
	case errors.As(err, new(*apply.BalancerError)): // the report has its own
		return nil
	case j.onChange == apply.Replan && errors.As(err, new(*apply.ChangedError)): // another plan takes over
		return nil
	}
	return err
}

// look looks at what is in the way of what is left of a plan, which may not fit.
func (j job) look(ctx context.Context, c Cluster, work *apply.Execution, misfit error) (preflight.Report, error) {
	run := j.before
	left := *work.Plan
	left.Steps = work.Remaining()
	run.Verb, run.Plan = j.verb, &left
	run.ForceJumbo, run.PauseBalancing = j.ForceJumbo, j.PauseBalancing
	run.Limited = j.MaxMoves > 0 || j.MaxBytes > 0 || j.For > 0
	if j.goal && work.Plan.Goal.Kind == plan.Drain {
		run.Shard = work.Plan.Goal.Shard
	}
	var had *catalog.Snapshot
	if j.read != nil {
		had = j.read()
	}
	return c.preflight(ctx, j.Before, run, had, misfit)
}

func (j job) options(l *leased, work *apply.Execution, gate *pace.Gate, r *serial) apply.Options {
	o := apply.Options{
		DryRun: l.lease == nil, OnChange: j.onChange, PauseBalancing: j.PauseBalancing, Parallel: j.Parallel,
		ForceJumbo: j.ForceJumbo,
		Clock:      l.Clock, Pace: gate, Hard: j.Hard, Tick: j.Tick,
		Tell: func(e apply.Event) {
			if p := e.Progress; p.Steps > 0 {
				gate.Expect(pace.Left{Bytes: p.Bytes - p.BytesDone, Steps: p.Steps - p.StepsDone})
			}
			r.Report(Step{e})
		},
	}
	if j.around != nil {
		j.around(l, work, &o)
	}
	return o
}

// begin opens a new journal of a plan, where one is kept.
func (e RunOptions) begin(c Cluster, p *plan.Plan) (*apply.Execution, error) {
	path := e.Journal
	switch {
	case e.NoJournal, e.DryRun, e.Preflight, c.Guarded:
		path = ""
	case path == "":
		path = p.ID + ".journal"
	}
	return apply.Begin(p, path)
}
