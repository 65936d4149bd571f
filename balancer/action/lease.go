package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// leasedRun is a cluster on which this run holds the lease. A dry run holds no lease, since it changes
// nothing.
type leasedRun struct {
	Cluster
	runner live.CommandRunner
	steps  stepper
	lease  *live.LeasedCluster // nil in a dry run
	pace   Pace                // within the limits of policies
	// releaseCtx limits the release after a run; nil uses the context of the run.
	releaseCtx context.Context
	// restoredNote describes what was restored after a quiesce that was killed.
	restoredNote string
}

// stepper executes steps on a cluster whose shards and router may have different releases.
type stepper interface {
	apply.Cluster
	Release() catalog.Release       // determines the rules of rounds
	RouterRelease() catalog.Release // determines the commands
}

// acquire takes the lease. doing describes the run in a few words. The error is a *live.HeldError while
// another process holds the lease.
func (c Cluster) acquire(
	ctx context.Context, runner live.CommandRunner, doing string, dryRun bool,
) (*leasedRun, error) {
	l := &leasedRun{Cluster: c, runner: runner}
	var err error
	if dryRun {
		var steps *live.StepExecutor
		if steps, err = live.NewStepExecutor(ctx, runner); err == nil {
			c.configureSteps(ctx, steps)
			l.steps = steps
		}
	} else {
		l.lease, err = live.Acquire(ctx, c.Client, runner, live.NewHolder(doing))
		if l.steps = l.lease; err == nil {
			c.configureSteps(ctx, l.lease.StepExecutor)
		}
	}
	if err == nil && l.lease != nil {
		if l.restoredNote, err = c.restoreKilledQuiesce(ctx); err != nil {
			_ = l.lease.Suspend(ctx, ctx) // paused balancing is as before; the lease expires by itself
		}
	}
	if err != nil && !errors.As(err, new(*live.HeldError)) {
		err = &NoAnswerError{err}
	}
	return l, err
}

// configureSteps passes what is known about the config servers to the executor of steps.
func (c Cluster) configureSteps(ctx context.Context, steps *live.StepExecutor) {
	steps.SetLocation(c.timeZone)
	if c.ClientOptions != nil {
		steps.DetectConfigRelease(ctx, c.ClientOptions)
	}
}

// releaseLeftoverLease releases the lease of a run that was killed after all its other work was done, since
// a run that finds nothing to do takes no lease. It does not release a lease in use.
func (c Cluster) releaseLeftoverLease(ctx context.Context) error {
	// A user who may not read the lease has none to release.
	if n, _ := live.LeaseCollectionOf(c.Client).CountDocuments(ctx, bson.D{}); n == 0 {
		return nil
	}
	c, ended, err := c.beginAudited(ctx, runStart{verb: consent.VerbGiveBack})
	if err != nil {
		return err
	}
	l, err := c.acquire(ctx, c.runner(), "releasing the lease of a killed run", false)
	if errors.As(err, new(*live.HeldError)) {
		return ended(err.Error(), nil)
	}
	if err == nil {
		err = l.lease.EndRun(ctx, nil)
	}
	return ended("", err)
}

// run executes the work and releases the lease. New plans are made from the current state of the
// cluster. After the lease is lost, no command is sent any more, and the error says so.
func (l *leasedRun) run(
	ctx context.Context, work *apply.Execution, o apply.Options, stopMoves <-chan struct{}, r *serialReporter,
) (apply.Result, error) {
	o.Replan = l.replan
	if l.lease == nil {
		return work.Run(ctx, l.steps, o)
	}
	held := l.lease.LeaseContext()
	hard, leave := context.WithCancelCause(held)
	defer leave(nil)
	if o.MovesContext != nil {
		defer context.AfterFunc(o.MovesContext, func() { leave(context.Cause(o.MovesContext)) })()
	}
	given := o.MovesContext
	o.MovesContext = hard
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(held, func() { stop(context.Cause(held)) })()
	done := stopMovesOn(cmp.Or(given, context.WithoutCancel(ctx)), stopMoves, l.lease, r)
	result, err := work.Run(running, l.steps, o)
	done()
	addWhoEnabled(ctx, l.lease, err)
	if given != nil && given.Err() != nil && stopMoves != nil {
		r.note(serversContinueText(l.lease))
	}
	if lost := context.Cause(held); lost != nil && !errors.Is(err, lost) && (err != nil || !result.Finished) {
		err = errors.Join(lost, err)
	}
	if err == nil && !result.Finished && o.WillContinue != nil && o.WillContinue() {
		return result, l.lease.Suspend(ctx, cmp.Or(l.releaseCtx, given))
	}
	off := l.lease.PausedCollections()
	l.lease.OnRestoreProgress = restoreProgress(r)
	err = errors.Join(err, l.lease.EndRun(ctx, cmp.Or(l.releaseCtx, given)))
	noteRestored(r, l.lease, off)
	return result, err
}

// replan makes a plan from the current state of the cluster. Collections whose balancing only this run,
// or an earlier run that was killed, has switched off count as enabled.
func (l *leasedRun) replan(ctx context.Context, w apply.ReplanRequest) (*plan.Plan, error) {
	parts := live.DefaultParts
	if w.Limits.Disk > 0 {
		parts |= live.ReusableSpace
	}
	s, err := live.NewReader(l.Client, live.ReaderOptions{Parts: parts, TimeZone: l.timeZone,
		MemberClientOptions: l.ClientOptions}).
		Read(ctx)
	if err != nil {
		return nil, live.ServerError(err)
	}
	paused := w.Paused
	if l.lease != nil {
		paused = slices.Concat(paused, l.lease.PausedCollections())
	}
	return plan.Make(
		apply.WithBalancingResumed(s, paused),
		plan.Options{Goal: w.Goal, Limits: w.Limits, IgnoreWindow: true,
			Model: plan.MeasuredAfterMerges(w.Merged)},
	)
}

// holderFunc returns a function that returns the holder of the lease, or false as long as the run has
// no lease. Metrics may be requested before that.
func holderFunc(lease *atomic.Pointer[live.LeasedCluster]) func() (live.Holder, bool) {
	return func() (live.Holder, bool) {
		if l := lease.Load(); l != nil {
			return l.Holder(), true
		}
		return live.Holder{}, false
	}
}

// stopMovesOn asks the donors to stop running moves when stopMoves is closed, until done is called.
func stopMovesOn(
	hard context.Context, stopMoves <-chan struct{}, lease *live.LeasedCluster, r *serialReporter,
) (done func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	ctx, end := context.WithCancel(hard)
	go func() {
		defer close(ended)
		select {
		case <-stopMoves:
			stopRunningMoves(ctx, lease, r)
		case <-over:
		}
	}()
	return func() {
		close(over)
		end()
		<-ended
	}
}

// stopRunningMoves asks the donors to stop the running moves of a lease, and reports the outcome. It reports
// nothing after ctx has ended, when no user waits any more.
func stopRunningMoves(ctx context.Context, lease *live.LeasedCluster, r *serialReporter) {
	found := false
	err := lease.Interrupt(ctx, func(s live.MoveStop) {
		found = true
		if ctx.Err() == nil {
			r.note(stoppedMoveText(s))
		}
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.note(fmt.Sprintf("The donors can't be asked to stop: %v. The run ends when its moves do; Ctrl-C again leaves them "+
			"to the cluster. To see what runs: %s", err, currentOpCommand(lease)))
	case !found:
		r.note("No running operation can be stopped. Press Ctrl-C again to leave running operations to the cluster.")
	}
}

// stoppedMoveText describes the answer of a donor that was asked to stop a move.
func stoppedMoveText(s live.MoveStop) string {
	move := fmt.Sprintf("the move of %s from %s to %s", s.Namespace, s.From, s.To)
	switch {
	case !s.Answered:
		return fmt.Sprintf("Shard %s was asked to stop %s. Waiting for its answer; Ctrl-C again leaves it to the cluster.",
			s.From, move)
	case s.Stopped():
		return fmt.Sprintf("Shard %s has stopped %s: nothing was moved.", s.From, move)
	case s.Err == nil:
		return fmt.Sprintf("Too late: %s was committed.", move)
	}
	return fmt.Sprintf("It is not known whether shard %s has stopped %s: %v.", s.From, move, s.Err)
}

// serversContinueText says that running operations were left to the servers, and how to see them.
func serversContinueText(lease *live.LeasedCluster) string {
	return "The servers complete the running moves. To see them: " + currentOpCommand(lease)
}

// currentOpCommand returns the command that shows the moves of a lease.
func currentOpCommand(lease *live.LeasedCluster) string {
	return fmt.Sprintf(`db.getSiblingDB("admin").aggregate([{ $currentOp: { allUsers: true, idleConnections: true } }, `+
		`{ $match: { $or: [{ desc: "MoveChunk" }, { "command.comment": %q }] } }])`, lease.Comment())
}

// commentFunc returns a function that returns the comment of the moves of the lease's holder, or an
// empty string as long as there is no lease.
func commentFunc(lease *atomic.Pointer[live.LeasedCluster]) func() string {
	return func() string {
		if l := lease.Load(); l != nil {
			return l.Comment()
		}
		return ""
	}
}
