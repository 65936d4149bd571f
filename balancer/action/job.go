package action

import (
	"context"
	"errors"
	"sync/atomic"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
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
	// around sets what is done besides the steps; nil sets nothing.
	around func(l *leased, work *apply.Execution, o *apply.Options)
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
	defer func() {
		if closed := work.Close(); closed != nil {
			err = errors.Join(err, closed)
			result.Finished, result.Error = false, err.Error()
		}
	}()
	planned := work.Plan
	if j.approved != "" {
		if err := planned.Approved(j.approved); err != nil {
			return result, err
		}
		j.Pace = j.within(planned.Limits)
	}
	r.Report(Planned{planned})
	dryRun := j.DryRun || c.Guarded
	if j.ForceJumbo {
		if err := c.foreseeForced(ctx, planned, r); err != nil {
			return result, err
		}
	}
	if !dryRun {
		if err := j.confirm(ctx, "Apply it?"); err != nil {
			return result, err
		}
	}
	if !dryRun {
		var ended func(string, error) error
		c, ended, err = c.audited(ctx, order{j.verb, planned.Goal.Namespaces, planned.ID, j.approved})
		if err != nil {
			return result, err
		}
		defer func() { err = ended(result.Stopped, err) }()
	}
	var lease atomic.Pointer[live.LeasedCluster]
	gate, leave, err := j.gate(ctx, c, j.rules(), dryRun, r, holder(&lease))
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
	if l.restored != "" {
		r.note(l.restored)
	}
	if j.approved != "" {
		l.steps = approvedSteps{l.steps, planned}
	}
	r.Report(Started{gate})
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
	return result, err
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
	case e.NoJournal, e.DryRun, c.Guarded:
		path = ""
	case path == "":
		path = p.ID + ".journal"
	}
	return apply.Begin(p, path)
}
