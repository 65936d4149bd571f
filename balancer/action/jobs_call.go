package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// jobCall is one call that works on a job.
type jobCall struct {
	Cluster
	JobStart
	jobs    *live.Jobs
	jobOpts jobOptions
	report  *serialReporter

	stop context.CancelCauseFunc // prevents new steps; nil before the work begins

	mu              sync.Mutex // guards the fields below
	job             *live.Job
	waitEvent       *pace.Event // why no step may start now; nil if one may
	earlierProgress apply.Progress
	resumed         bool
	gate            *pace.Gate // nil until the gate is created
}

// These errors are the reasons why the work of a call ends early.
var (
	errCallTimeOver = errors.New("the time of this call is over")
	errCancelled    = errors.New("the job is cancelled")
)

const (
	// jobStepGrace is the time that running steps get after the working time of a call. Then they are
	// left to the cluster.
	jobStepGrace = 2 * time.Second
	// jobPrepareTimeout is the maximum time of a call before its first step, not counting planning.
	jobPrepareTimeout = time.Minute
	// jobPollInterval is the interval at which a call checks whether it may start a step.
	jobPollInterval = time.Second
	// jobRestoreTimeout is the maximum time in which a call enables balancing again. Collections that
	// are still disabled stay recorded, and the next call continues.
	jobRestoreTimeout = 20 * time.Second
)

// run works on the job and writes the changes to the audit log.
func (j *jobCall) run(ctx context.Context) (JobStatus, error) {
	c, err := j.withTimeZone(j.jobOpts.TimeZone)
	if err != nil {
		return JobStatus{}, err
	}
	c, ended, err := c.beginAudited(ctx, runStart{verb: j.jobOpts.Verb, namespaces: j.jobOpts.Namespaces})
	if err != nil {
		return JobStatus{}, err
	}
	j.Cluster = c
	status, err := j.acquireAndRun(ctx)
	if stopped := string(status.State); status.State != live.JobDone {
		return status, ended(stopped, err)
	}
	return status, ended("", err)
}

// acquireAndRun takes the lease and works. While another process holds the lease, acquireAndRun waits for
// it during the working time of the call.
func (j *jobCall) acquireAndRun(ctx context.Context) (JobStatus, error) {
	for began := time.Now(); ; {
		l, err := j.acquire(ctx, j.runner(), jobLeaseDescription(j.job.ID), false)
		held, ok := errors.AsType[*live.HeldError](err)
		switch {
		case ok && ctx.Err() == nil && time.Since(began)+jobPollInterval < j.WorkFor:
			if j.Clock.Sleep(ctx, jobPollInterval) != nil {
				return j.statusHeldBy(held), nil //nolint:nilerr // that is why it waits
			}
			continue
		case ok:
			return j.statusHeldBy(held), nil
		case err != nil:
			return JobStatus{}, err
		}
		if l.restoredNote != "" {
			j.report.note(l.restoredNote)
		}
		return j.runLeased(ctx, l, j.timeLeft(j.WorkFor, began))
	}
}

// statusHeldBy returns the status while another call of the job, or another run, holds the lease.
func (j *jobCall) statusHeldBy(held *live.HeldError) JobStatus {
	status := j.statusOf(j.job)
	if held.Holder.Doing == jobLeaseDescription(j.job.ID) {
		status.State, status.Worker = live.JobRunning, held.Holder.String()
	} else {
		status.State = live.JobWaiting
	}
	status.BlockedBy = []live.JobBlock{{
		What: "lease", Text: held.Error(), Remedy: "wait: a call that was killed keeps it for at most a minute",
	}}
	return status
}

// runLeased works with the lease, and then releases it.
func (j *jobCall) runLeased(ctx context.Context, l *leasedRun, left time.Duration) (JobStatus, error) {
	job, err := j.jobs.BeginCall(ctx, j.job, l.lease.Holder().Host)
	if err == nil {
		j.job = job
		if o := optionsOf(job); !job.Cancel && o.text() != j.jobOpts.text() {
			err = live.ErrJobTaken // the options of the job were replaced in the meantime
		}
	}
	if err != nil {
		return j.saveFailure(ctx, errors.Join(err, l.lease.Suspend(ctx, j.AbortContext)))
	}
	if job.State.Ended() { // in the meantime
		return j.statusOf(job), j.releaseLease(ctx, l)
	}
	if !job.Cancel {
		if known, err := j.work(ctx, l, left); !known || err != nil {
			return j.statusOf(j.job), err
		}
	}
	if j.job.Cancel {
		return j.finishCancel(ctx, l)
	}
	return j.save(ctx)
}

// saveFailure sets the state of the job from an error, and saves it.
func (j *jobCall) saveFailure(ctx context.Context, err error) (JobStatus, error) {
	if known, err := j.setOutcome(apply.Result{}, j.withRoles(ctx, err)); !known {
		return j.statusOf(j.job), err
	}
	return j.save(ctx)
}

// save saves the state of the job and returns it.
func (j *jobCall) save(ctx context.Context) (JobStatus, error) {
	if j.gate != nil {
		j.job.Worked = j.gate.Spent()
	}
	saving, cancel := live.OutlivingContext(ctx, ctx, jobStepGrace)
	defer cancel()
	job, err := j.jobs.Save(saving, j.job)
	switch {
	case errors.Is(err, live.ErrJobTaken): // the state of the other call is more recent
		status := j.statusOf(j.job)
		status.State = live.JobRunning
		return status, nil
	case err != nil:
		return JobStatus{}, &NoAnswerError{err}
	}
	j.job = job
	return j.statusOf(job), nil
}

// newGoalRun returns the job as a goalRun.
func (j *jobCall) newGoalRun(completion **drainHooks) (goalRun, error) {
	e, err := j.jobOpts.runOptions()
	if err != nil {
		return goalRun{}, err
	}
	if e.Pace, err = j.limitPace(e.Pace); err != nil {
		return goalRun{}, err
	}
	e.AbortContext = j.AbortContext
	switch j.jobOpts.Verb {
	case "defragment":
		return Defragment{Namespaces: j.jobOpts.Namespaces, All: j.jobOpts.All, RunOptions: e}.newGoalRun(), nil
	case "balance":
		b := Balance{Namespaces: j.jobOpts.Namespaces, All: j.jobOpts.All}
		return goalRun{
			kind: plan.Balance, RunOptions: e, namespaces: b.Namespaces,
			goal: func(_ context.Context, s *catalog.Snapshot) (plan.Goal, error) {
				names, err := b.names(s)
				return plan.Goal{Kind: plan.Balance, Namespaces: names}, err
			},
		}, nil
	}
	d := &Drain{Shard: j.jobOpts.Shard, Remove: j.jobOpts.Remove, MovePrimaries: j.jobOpts.MovePrimaries, RunOptions: e}
	a := d.newGoalRun(j.Cluster, j.report, completion)
	around := a.addHooks
	a.addHooks = func(l *leasedRun, work *apply.Execution, o *apply.Options) {
		around(l, work, o)
		(*completion).limited = true // each call ends after its working time
	}
	return a, nil
}

// prepareExecution resumes the execution of the journal, or makes a plan for the first call.
func (j *jobCall) prepareExecution(
	ctx context.Context, l *leasedRun, a goalRun, journal *live.JobJournal, h *apply.ParsedJournal,
) (*apply.Execution, error) {
	if h == nil {
		if err := journal.RemoveEarlierRuns(ctx); err != nil {
			return nil, err
		}
		read, p, err := a.plan(ctx, j.Cluster, j.report)
		if err != nil {
			return nil, err
		}
		work := apply.BeginInStore(p, journal)
		return work, j.preflight(ctx, a, work, read)
	}
	h.RetainPaused(l.lease.PausedCollections())
	moves, ok := h.MovedAmount(false)
	j.earlierProgress.MovesDone, j.earlierProgress.BytesDone = moves, ok.Bytes
	work := apply.ResumeInStore(h, journal)
	if j.resumed = h.HasBegun(); j.resumed {
		return work, nil
	}
	return work, j.preflight(ctx, a, work, nil)
}

// preflight returns an error for the obstacles of a plan, before the plan is executed.
func (j *jobCall) preflight(ctx context.Context, a goalRun, work *apply.Execution, read *catalog.Snapshot) error {
	report, err := planRun{
		verb: string(a.kind), RunOptions: a.RunOptions, hasGoal: true, preflightRun: a.preflightRun,
		planSnapshot: func() *catalog.Snapshot { return read },
	}.runPreflight(ctx, j.Cluster, work)
	if err != nil {
		return err
	}
	return checkObstacles(report.Without(diagnosis.LeaseHeld), false, j.report) // the lease is held by this call
}

// countsTimeBetween reports whether the time since the previous call counts as working time, because a
// move may have continued. Waiting for a window or for the end of a hold does not count.
func (j *jobCall) countsTimeBetween() bool {
	switch j.job.State {
	case live.JobRunning:
		return true
	case live.JobWaiting:
		return !slices.ContainsFunc(j.job.BlockedBy, func(b live.JobBlock) bool {
			return b.What == string(pace.WaitWindow) || b.What == string(pace.WaitPaused)
		})
	}
	return false
}

// rules returns the rules of this call. They include what earlier calls have moved and how long these
// calls have worked.
func (j *jobCall) rules(ctx context.Context, e RunOptions, h *apply.ParsedJournal) (pace.Rules, error) {
	rules := e.rules()
	rules.CountOnlyOpenTime, rules.SpentBefore = true, j.job.Worked
	if h == nil {
		return rules, nil
	}
	if j.countsTimeBetween() {
		rules.SpentBefore += j.job.Updated.Sub(j.job.PreviousUpdated)
	}
	moves, ok := h.MovedAmount(true)
	rules.MovedBefore = pace.MovedAmount{Moves: moves, Bytes: ok.Bytes}
	if rules.PauseBetween == 0 {
		return rules, nil
	}
	now, err := j.now(ctx)
	if err != nil {
		return rules, &NoAnswerError{err}
	}
	if last := h.LastStepTime(); !last.IsZero() { // the step has the time of another machine's clock
		rules.FirstPause = min(rules.PauseBetween-now.Sub(last), rules.PauseBetween)
	}
	return rules, nil
}

// jobWork is the work of a call.
type jobWork struct {
	goalRun
	*apply.Execution
	completion *drainHooks
	gate       *pace.Gate
	closeGate  func()
}

// earlierMoveError says that a move of an earlier call takes longer than this call.
type earlierMoveError struct{ catalog.ActiveMigration }

func (e *earlierMoveError) Error() string {
	return fmt.Sprintf("a move of %s from %s to %s, begun by an earlier call, is still running", e.Namespace, e.From, e.To)
}

// prepare returns the work of a call as soon as it may begin. A job that was waiting at the end of the
// last call first waits, without reading the cluster.
func (j *jobCall) prepare(ctx context.Context, l *leasedRun, left time.Duration) (w jobWork, err error) {
	began := time.Now()
	w.closeGate = func() {}
	if w.goalRun, err = j.newGoalRun(&w.completion); err != nil {
		return w, err
	}
	if gone, err := j.isShardRemoved(ctx); err != nil || gone {
		return w, cmp.Or[error](err, &goalReachedError{})
	}
	journal, h, err := j.jobs.OpenJournal(ctx, j.job)
	if err != nil {
		return w, err
	}
	rules, err := j.rules(ctx, w.RunOptions, h)
	if err != nil {
		return w, err
	}
	var held atomic.Pointer[live.LeasedCluster]
	held.Store(l.lease)
	l.pace = w.Pace
	w.gate, w.closeGate, err = w.goalRun.newGate(ctx, j.Cluster, rules, false, &serialReporter{next: j}, &held)
	if err != nil {
		w.closeGate = func() {}
		return w, err
	}
	j.mu.Lock()
	j.gate = w.gate
	j.mu.Unlock()
	if j.job.State == live.JobWaiting {
		if err := j.awaitGate(ctx, w.gate, left); err != nil {
			return w, err
		}
	}
	if w.Execution, err = j.prepareExecution(ctx, l, w.goalRun, journal, h); err != nil {
		return w, err
	}
	// A call waits for the hours of a policy like for a window.
	if err := j.checkPermitted(consent.Request{Verb: j.jobOpts.Verb, Namespaces: changedNamespaces(w.Plan)}); err != nil {
		return w, err
	}
	if h != nil {
		if err := j.awaitEarlierMoves(ctx, l, h, left-time.Since(began)); err != nil {
			return w, err
		}
	}
	if len(w.RemainingSteps()) == 0 { // the remaining work moves nothing
		return w, nil
	}
	return w, j.awaitGate(ctx, w.gate, j.timeLeft(left, began))
}

// awaitGate waits until a move may begin, at most for the remaining time of this call.
func (j *jobCall) awaitGate(ctx context.Context, gate *pace.Gate, left time.Duration) error {
	over, end := context.WithCancelCause(ctx) // not a deadline, which the driver would take for a slow cluster
	defer end(nil)
	defer time.AfterFunc(left, func() { end(errCallTimeOver) }).Stop()
	return gate.AwaitOpen(over)
}

// timeLeft returns the remaining time of a call. It returns a minimum even if the preparation has taken
// all the time, since otherwise no call would ever start a step.
func (j *jobCall) timeLeft(left time.Duration, began time.Time) time.Duration {
	return max(left-time.Since(began), min(j.WorkFor, jobPollInterval))
}

// work executes the plan for a while, and sets the state of the job. known says whether the state could
// be determined; if not, the stored state is not changed.
func (j *jobCall) work(ctx context.Context, l *leasedRun, left time.Duration) (known bool, err error) {
	began := time.Now()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j.stop = stop
	defer j.watchCancel(running)()
	w, err := j.prepare(running, l, left)
	defer func() { w.closeGate() }()
	if err != nil {
		leave := j.releaseLease
		if j.keepsBalancingPaused(err) {
			leave = func(ctx context.Context, l *leasedRun) error { return l.lease.Suspend(ctx, j.AbortContext) }
		}
		if ctx.Err() != nil {
			err = errCallTimeOver
		}
		return j.setOutcome(apply.Result{}, j.withRoles(ctx, errors.Join(err, leave(ctx, l))))
	}
	result, err := j.execute(ctx, running, l, w, j.timeLeft(left, began))
	if left := unreachedError(result); err == nil && left != nil &&
		w.kind != plan.Balance { // balancing ends as evenly as possible
		err = &goalMissedError{left}
	}
	if w.completion != nil && w.completion.warning != "" {
		j.report.note(w.completion.warning)
	}
	return j.setOutcome(result, j.withRoles(ctx, err))
}

// keepsBalancingPaused reports whether paused balancing and draining marks stay for the next call,
// because the job continues soon. Waiting for a window or a hold may take long; then they are restored.
func (j *jobCall) keepsBalancingPaused(err error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.job.Cancel ||
		j.waitEvent != nil && slices.Contains([]pace.Reason{pace.WaitWindow, pace.WaitPaused}, j.waitEvent.Reason) {
		return false
	}
	return errors.Is(err, errCallTimeOver) || errors.As(err, new(*earlierMoveError))
}

// releaseLease releases the lease and enables paused balancing again.
func (j *jobCall) releaseLease(ctx context.Context, l *leasedRun) error {
	hard, hurry := context.WithTimeout(context.WithoutCancel(ctx), jobRestoreTimeout)
	defer hurry()
	if j.AbortContext != nil {
		defer context.AfterFunc(j.AbortContext, hurry)()
	}
	return l.lease.EndRun(ctx, hard)
}

// isShardRemoved reports whether the shard has left the cluster.
func (j *jobCall) isShardRemoved(ctx context.Context) (bool, error) {
	if !j.jobOpts.Remove {
		return false, nil
	}
	s, err := live.NewReader(j.Client, live.ReaderOptions{Parts: live.Shards, Required: live.Shards}).Read(ctx)
	if err != nil {
		return false, &NoAnswerError{live.ServerError(err)}
	}
	_, ok := s.Shard(j.jobOpts.Shard)
	return !ok && WasRemoved(ctx, j.Client, j.jobOpts.Shard), nil
}

// finishCancel restores paused balancing and draining marks, and ends the job.
func (j *jobCall) finishCancel(ctx context.Context, l *leasedRun) (JobStatus, error) {
	if context.Cause(l.lease.LeaseContext()) != nil { // work has released the lease
		again, err := j.acquire(ctx, j.runner(), jobLeaseDescription(j.job.ID), false)
		if held, ok := errors.AsType[*live.HeldError](err); ok {
			return j.statusHeldBy(held), nil
		}
		if err != nil {
			return JobStatus{}, err
		}
		l = again
	}
	err := j.unmarkDraining(ctx, l)
	off := l.lease.PausedCollections()
	l.lease.OnRestoreProgress = restoreProgress(j.report)
	err = errors.Join(err, j.releaseLease(ctx, l))
	noteRestored(j.report, l.lease, off)
	if err != nil {
		return j.saveFailure(ctx, err)
	}
	j.job.State, j.job.BlockedBy, j.job.Error = live.JobCancelled, nil, ""
	return j.save(ctx)
}

// unmarkDraining removes the draining mark that the job has set.
func (j *jobCall) unmarkDraining(ctx context.Context, l *leasedRun) error {
	journal, h, err := j.jobs.OpenJournal(ctx, j.job)
	if err != nil || h == nil || j.jobOpts.Shard == "" {
		return err
	}
	work := apply.ResumeInStore(h, journal)
	if marked, removed := work.DrainingShard(); marked == "" || removed {
		return nil
	}
	state, found, err := l.lease.ReadDrain(ctx, j.jobOpts.Shard)
	if err != nil || !found || state.State == diagnosis.DrainOff {
		return err
	}
	end := &drainHooks{leasedRun: l, shard: j.jobOpts.Shard, journal: work, note: j.report.note}
	if err := end.unmarkOrWarn(ctx); err != nil {
		return err
	}
	if end.warning != "" {
		j.report.note(end.warning)
	}
	return nil
}
