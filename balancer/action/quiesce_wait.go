package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// quiesce stops the balancer, waits until the cluster is quiet, keeps it quiet, and restores the
// balancer.
func (q *quiesceRun) quiesce(ctx context.Context) error {
	opening, cancel := withTimer(ctx, q.Timeout)
	defer cancel()
	if err := q.acquire(opening, "quiesce"); err != nil {
		return q.timeoutError(ctx, opening, err)
	}
	held, leave := q.lease.KeepAlive(ctx)
	if err := q.retry(opening, q.recordState); err != nil {
		err = q.timeoutError(ctx, opening, err)
		leaving, cancel := q.cleanupContext(ctx, closeTimeout)
		defer cancel()
		return errors.Join(err, leave(leaving))
	}
	err := q.waitQuiet(held)
	var started *balancerStartedError
	switch {
	case errors.As(err, &started):
		q.result.Verdict, q.result.Violations, err = VerdictBroken, []string{started.Error()}, nil
	case err != nil:
	case q.result.Quiet.IsZero():
		q.result.Verdict = VerdictNotQuiet
		q.report.note("Not quiet: " + busyText(q.result.Running) + ".")
	case q.Detach:
		if err = q.detach(held); err == nil {
			leaving, cancel := q.cleanupContext(ctx, closeTimeout)
			defer cancel()
			return leave(leaving)
		}
	default:
		err = q.holdQuiet(held)
	}
	if lost := context.Cause(held); errors.Is(lost, live.ErrLeaseLost) {
		q.result.Violations = append(q.result.Violations, "the lease was lost: another process may have started the balancer")
		q.result.Verdict = VerdictBroken
		return errors.Join(err, lost)
	}
	return errors.Join(err, q.finish(ctx, leave))
}

// timeoutError returns the error for a start that has timed out, or err if it has not.
func (q *quiesceRun) timeoutError(ctx, opening context.Context, err error) error {
	if err == nil || opening.Err() == nil || ctx.Err() != nil {
		return err
	}
	q.unanswered = true
	return fmt.Errorf("%w within %s", errUnanswered, humanize.Duration(q.Timeout))
}

// acquire takes the lease. The error is a *live.HeldError while another process holds it.
func (q *quiesceRun) acquire(ctx context.Context, doing string) error {
	err := q.retry(ctx, func(ctx context.Context) (err error) {
		if err := live.CheckCanWriteSettings(ctx, q.cluster.Client); err != nil {
			return err
		}
		q.lease, err = live.AcquireQuiesce(ctx, q.cluster.Client, doing)
		return err
	})
	if err != nil && !errors.As(err, new(*live.HeldError)) {
		err = &NoAnswerError{err}
	}
	return err
}

// recordState records the current state, or takes over the record of a process that was killed.
func (q *quiesceRun) recordState(ctx context.Context) error {
	now, err := q.cluster.now(ctx)
	if err != nil {
		return &NoAnswerError{err}
	}
	if q.record, err = live.ReadQuiesceRecord(ctx, q.cluster.Client); err != nil {
		return &NoAnswerError{err}
	}
	status, err := q.activity.ReadStatus(ctx)
	if err != nil {
		return &NoAnswerError{err}
	}
	if q.record != nil && q.record.IsActive(now) {
		return q.record.HeldError()
	}
	self := live.NewHolder("")
	if q.record != nil {
		q.report.note(fmt.Sprintf("shardsh quiesce on %s stopped the balancer and no longer runs; this run takes over.",
			q.record.Host))
		if q.record.Restarting { // repeated, since the balancer is stopped again below
			if err := q.restartBalancer(ctx); err != nil {
				return err
			}
			q.record.Restarting = false
		}
	} else {
		q.record = &live.QuiesceRecord{Mode: status.Mode}
		if q.record.DisabledSettings, err = q.activity.ReadDisabledSwitches(ctx); err != nil {
			return &NoAnswerError{err}
		}
		mark, err := live.ReadEndOfLog(ctx, q.activity.Commands, live.ActionLog)
		if err != nil {
			return &NoAnswerError{err}
		}
		q.record.BeforeStopMark = mark.Text()
	}
	q.record.Host, q.record.PID, q.record.Since, q.record.Until = self.Host, self.PID, now, time.Time{}
	q.result.PreviousMode, q.result.Stopped = q.record.Mode, now
	if err := q.record.Save(ctx, q.cluster.Client); err != nil {
		return &NoAnswerError{err}
	}
	return nil
}

// The cluster counts as quiet when two checks, at least settleTime apart, find nothing and nothing has
// moved in between: a command of a config server that has stepped down may still have been on its way
// during the first check. A new primary sends recorded commands again, so the time is longer after a
// step-down.
const (
	settleTime              = time.Second
	settleTimeAfterStepDown = 5 * time.Second
	minPollPause            = 200 * time.Millisecond
	maxPollPause            = 5 * time.Second
	checkTimeout            = 20 * time.Second
	watchInterval           = 5 * time.Second
	finalCheckTimeout       = 5 * time.Second
	minCheckTimeout         = 250 * time.Millisecond
	balancerStopTimeout     = 5 * time.Second
)

// quietCheck is the result of one check.
type quietCheck struct {
	changeLogEnd  live.LogPosition // the end of the change log before anything else was read
	before, after live.BalancerStatus
	busy          []live.Activity
	at            time.Time
}

func (q *quietCheck) isQuiet() bool { return len(q.busy) == 0 }

// waitQuiet waits until the cluster is quiet or the timeout expires. In the latter case the result
// lists the operations that are still running.
func (q *quiesceRun) waitQuiet(ctx context.Context) error {
	began := q.cluster.Clock.Now()
	defer func() { q.result.WaitedMillis = q.cluster.Clock.Now().Sub(began).Milliseconds() }()
	var first live.BalancerStatus
	var clean *quietCheck
	stepDown, stopped := false, false
	pause := minPollPause
	for n := 0; ; n++ {
		left := q.Timeout - q.cluster.Clock.Now().Sub(began)
		s, off, err := q.stopAndCheckQuiet(ctx, left, &stopped, n == 0)
		if err != nil {
			return err
		}
		if n == 0 {
			first = s.before
			q.estimateWait(ctx, s.busy)
		}
		if primaryChanged(first, s.before) || primaryChanged(s.before, s.after) {
			stepDown, first, clean = true, s.after, nil
			q.result.StepDown = true
		}
		q.result.WaitedFor = live.MergeActivities(q.result.WaitedFor, s.busy)
		q.result.Running = s.busy
		switch {
		case !off || !s.isQuiet():
			clean = nil
		case clean == nil:
			clean = s
		default:
			settled := settleTime
			if stepDown {
				settled = settleTimeAfterStepDown
			}
			moved, err := q.movesSince(ctx, clean.changeLogEnd, left)
			switch {
			case err != nil || len(moved) > 0:
				clean = s
			case s.at.Sub(clean.at) >= settled:
				if q.recordQuiet(ctx, clean, s, left) == nil {
					return nil
				}
			}
		}
		if left = q.Timeout - q.cluster.Clock.Now().Sub(began); left <= 0 {
			if len(q.result.Running) == 0 {
				q.result.Running = []live.Activity{{
					Kind: live.ActivityUnknown, Detail: "no activity now, but the cluster has not been quiet for long enough",
				}}
			}
			return nil
		}
		if clean != nil {
			pause = minPollPause
		}
		if err := q.cluster.Clock.Sleep(ctx, min(pause, left)); err != nil {
			return context.Cause(ctx)
		}
		pause = min(pause*3/2, maxPollPause)
	}
}

// primaryChanged reports whether the config server has a new primary. Before 6.0, only a decrease of the
// number of rounds shows it.
func primaryChanged(before, after live.BalancerStatus) bool {
	return before.Term != after.Term || after.Rounds < before.Rounds
}

// stopAndCheckQuiet checks once whether the cluster is quiet. If the cluster can't be read, it counts as
// busy, unless the user lacks a privilege, which is an error. stopAndCheckQuiet stops the balancer if it
// is on. If the balancer is on although it was stopped before, another client has started it; then
// stopAndCheckQuiet returns a *balancerStartedError.
func (q *quiesceRun) stopAndCheckQuiet(
	ctx context.Context, left time.Duration, stopped *bool, all bool,
) (*quietCheck, bool, error) {
	looking, cancel := withTimer(ctx, max(min(left, checkTimeout), minCheckTimeout))
	defer cancel()
	s, err := q.stopAndReadActivity(looking, left, stopped, all)
	switch {
	case ctx.Err() != nil:
		return nil, false, context.Cause(ctx)
	case errors.As(err, new(*balancerStartedError)), mongoerr.Is(err, mongoerr.Unauthorized):
		return nil, false, err
	case err != nil:
		q.unanswered = looking.Err() != nil
		s.busy = append(s.busy, live.Activity{Kind: live.ActivityUnknown, Detail: fmt.Sprintf("can't reach the cluster: %v",
			err)})
		s.after = s.before
	}
	q.unanswered = q.unanswered && err != nil
	s.at = q.cluster.Clock.Now()
	return s, err == nil && s.after.Mode == catalog.ModeOff, nil
}

// balancerStartedError says that another client has started the balancer while it was to be stopped.
type balancerStartedError struct{}

func (*balancerStartedError) Error() string {
	return "another client has started the balancer in the meantime"
}

func (q *quiesceRun) stopAndReadActivity(
	ctx context.Context, left time.Duration, stopped *bool, all bool,
) (s *quietCheck, err error) {
	s = new(quietCheck)
	if s.before, err = q.activity.ReadStatus(ctx); err != nil {
		return s, err
	}
	s.after = s.before
	if s.before.Mode != catalog.ModeOff {
		if *stopped {
			return s, &balancerStartedError{}
		}
		if err := q.stopBalancer(ctx, left); err != nil {
			return s, err
		}
		if s.before, err = q.activity.ReadStatus(ctx); err != nil {
			return s, err
		}
	}
	*stopped = *stopped || s.before.Mode == catalog.ModeOff
	if s.changeLogEnd, err = live.ReadEndOfLog(ctx, q.activity.Commands, live.ChangeLog); err != nil {
		return s, err
	}
	runs, err := live.ReadRunUnderWay(ctx, q.cluster.Client)
	if err != nil {
		return s, err
	}
	busy, err := q.activity.ReadActivities(ctx, all)
	if err != nil {
		return s, err
	}
	if s.after, err = q.activity.ReadStatus(ctx); err != nil {
		return s, err
	}
	s.busy = append(runs, busy...)
	if s.after.InRound {
		s.busy = append(s.busy, live.Activity{Kind: live.ActivityRound})
	}
	return s, nil
}

// stopBalancer sends balancerStop. The mode is off as soon as the command has arrived. The current
// round continues; stopBalancer does not wait for its end, since the checks detect it.
func (q *quiesceRun) stopBalancer(ctx context.Context, left time.Duration) error {
	q.record.Stops++
	if err := q.record.Save(ctx, q.cluster.Client); err != nil {
		return err
	}
	stopping, cancel := withTimer(ctx, max(min(left, balancerStopTimeout), minCheckTimeout))
	defer cancel()
	err := q.send(stopping, "admin", stopCommand())
	if mongoerr.Is(err, mongoerr.MaxTimeMSExpired) || stopping.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// recordQuiet records that the cluster is quiet.
func (q *quiesceRun) recordQuiet(ctx context.Context, clean, last *quietCheck, left time.Duration) error {
	ctx, cancel := withTimer(ctx, max(min(left, checkTimeout), minCheckTimeout))
	defer func() { q.unanswered = ctx.Err() != nil; cancel() }()
	now, err := q.cluster.now(ctx)
	if err != nil {
		return &NoAnswerError{err}
	}
	actions, err := live.ReadEndOfLog(ctx, q.activity.Commands, live.ActionLog)
	if err != nil {
		return &NoAnswerError{err}
	}
	q.record.QuietActionLogMark = actions.Text()
	q.record.QuietAt, q.record.Term, q.record.ChangeLogMark = now, last.after.Term, clean.changeLogEnd.Text()
	if err := q.record.Save(ctx, q.cluster.Client); err != nil {
		return &NoAnswerError{err}
	}
	q.result.Quiet, q.result.Term, q.result.Running = now, last.after.Term, nil
	text := "Quiet: no shard moves, merges or deletes data"
	if q.IgnoreDeletions {
		text = "Quiet: no shard moves or merges data"
	}
	if last.after.Term != 0 {
		text += fmt.Sprintf(" (term %d)", last.after.Term)
	}
	q.report.note(text + ".")
	return nil
}

// detach leaves the cluster quiet and lets the process end.
func (q *quiesceRun) detach(ctx context.Context) error {
	q.record.Until = q.result.Quiet.Add(q.Hold)
	if err := q.record.Save(ctx, q.cluster.Client); err != nil {
		return &NoAnswerError{err}
	}
	q.result.Verdict, q.result.Until = VerdictQuiet, q.record.Until
	return nil
}

// holdQuiet keeps the cluster quiet for Hold or while WhileQuiet runs, and checks that it stayed quiet.
func (q *quiesceRun) holdQuiet(ctx context.Context) (err error) {
	began := q.cluster.Clock.Now()
	if q.WhileQuiet != nil {
		err = q.runWhileQuiet(ctx)
	} else {
		q.waitHold(ctx, began)
	}
	q.result.HeldMillis = q.cluster.Clock.Now().Sub(began).Milliseconds()
	checking, cancel := q.cleanupContext(ctx, finalCheckTimeout)
	defer cancel()
	if broken := q.findViolations(checking); len(broken) > 0 {
		q.result.Violations = broken
	}
	q.result.Verdict = VerdictQuiet
	if len(q.result.Violations) > 0 {
		q.result.Verdict = VerdictBroken
	}
	return err
}

// waitHold waits for the time of Hold and checks the state at intervals.
func (q *quiesceRun) waitHold(ctx context.Context, began time.Time) {
	for {
		left := q.Hold - q.cluster.Clock.Now().Sub(began)
		if q.cluster.Clock.Sleep(ctx, min(left, watchInterval)) != nil || left <= watchInterval {
			return
		}
		q.checkStillQuiet(ctx)
	}
}

// runWhileQuiet runs WhileQuiet, and checks the state at intervals by the real clock.
func (q *quiesceRun) runWhileQuiet(ctx context.Context) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if q.Hold > 0 {
		timer := time.AfterFunc(q.Hold, func() {
			cancel(fmt.Errorf("the hold time of %s is over", humanize.Duration(q.Hold)))
		})
		defer timer.Stop()
	}
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				q.checkStillQuiet(running)
			}
		}
	}()
	err := q.WhileQuiet(running)
	close(over)
	<-watched
	if cause := context.Cause(running); cause != nil && ctx.Err() == nil {
		q.result.Violations = append(q.result.Violations, "the command was stopped: "+cause.Error())
		err = errors.Join(cause, err)
	}
	return err
}

// joinAtMost joins at most so many texts, and says how many more there are.
func joinAtMost(texts []string, few int) string {
	if more := len(texts) - few; more > 0 {
		texts = append(texts[:few:few], fmt.Sprintf("%d more", more))
	}
	return joinTexts(texts)
}

// withTimer returns a context that is cancelled after d. The context has no deadline, because with a
// deadline the driver would not give up a read.
func withTimer(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(d, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}
