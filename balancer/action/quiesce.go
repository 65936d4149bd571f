package action

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// Quiesce stops the cluster's balancer, waits until no data are moved, merged or deleted any more, and
// keeps this state while another task runs, such as a backup.
type Quiesce struct {
	// Timeout is the maximum wait; the default is DefaultQuiesceTimeout.
	Timeout time.Duration
	// Hold is the time for which the cluster is kept quiet. Zero means until WhileQuiet has returned.
	Hold time.Duration
	// WhileQuiet is the task that runs while the cluster is quiet. Its context ends with the context of the
	// run, and after Hold. With nil, the run only waits for Hold.
	WhileQuiet func(ctx context.Context) error
	// Detach returns as soon as the cluster is quiet. The cluster stays quiet for Hold.
	Detach bool
	// End restores the previous state before Hold has passed.
	End bool
	// IgnoreDeletions does not wait for range deletions.
	IgnoreDeletions bool
	// DryRun only reads the state, and reports the commands that it would send.
	DryRun bool
}

// DefaultQuiesceTimeout is longer than the delay of range deletions after a move.
const DefaultQuiesceTimeout = 20 * time.Minute

// Validate refuses options that exclude each other.
func (q Quiesce) Validate() error {
	switch {
	case q.End && (q.Detach || q.Hold != 0 || q.WhileQuiet != nil):
		return refuse("{end} restores the previous state: leave out {hold}, {detach} and the command")
	case q.Detach && q.WhileQuiet != nil:
		return refuse("{detach} returns at once: leave out the command")
	case q.Detach && q.Hold == 0 && !q.DryRun:
		return refuse("{detach} needs {hold}: for how long the cluster is to be kept quiet")
	case q.Hold < 0:
		return refuse("{hold} can't be negative: %v", q.Hold)
	case q.Timeout < 0:
		return refuse("{timeout} can't be negative: %v", q.Timeout)
	case !q.End && !q.DryRun && q.Hold == 0 && q.WhileQuiet == nil:
		return refuse("quiesce needs a command to run meanwhile, or {hold}: for how long")
	}
	return nil
}

// QuiesceVerdict is the outcome of a Quiesce.
type QuiesceVerdict string

// The verdicts. Only VerdictQuiet, VerdictEnded and VerdictDryRun are a success.
const (
	// VerdictQuiet says that nothing moved from QuiesceResult.Quiet on until the balancer was restored.
	VerdictQuiet QuiesceVerdict = "quiet"
	// VerdictNotQuiet says that the timeout expired. The balancer was restored.
	VerdictNotQuiet QuiesceVerdict = "notQuiet"
	// VerdictBroken says that another client started the balancer or moved data while the cluster was
	// to be quiet.
	VerdictBroken QuiesceVerdict = "broken"
	// VerdictEnded says that an earlier Quiesce was ended and the balancer restored, or that there was
	// none to end.
	VerdictEnded  QuiesceVerdict = "ended"
	VerdictDryRun QuiesceVerdict = "dryRun"
)

// QuiesceResult is the result of a Quiesce.
type QuiesceResult struct {
	Verdict QuiesceVerdict `json:"verdict,omitzero"`
	// PreviousMode is the previous mode of the balancer.
	PreviousMode catalog.Mode `json:"was,omitzero"`
	// Stopped is the time at which the balancer was stopped. Quiet is the time from which nothing moved
	// any more, in a Term of the config server's primary. Times are in the clock of the mongos.
	Stopped  time.Time `json:"stopped,omitzero"`
	Quiet    time.Time `json:"quiet,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Term     int64     `json:"term,omitzero"`
	StepDown bool      `json:"stepDown,omitzero"`
	// ExpectedMillis is the estimated wait, Waited the actual wait, in milliseconds.
	ExpectedMillis int64 `json:"expectedMillis,omitzero"`
	WaitedMillis   int64 `json:"waitedMillis"`
	HeldMillis     int64 `json:"heldMillis,omitzero"`
	// WaitedFor are the operations that Quiesce waited for. Running are the operations that are still
	// running.
	WaitedFor []live.Activity `json:"waitedFor,omitempty"`
	Running   []live.Activity `json:"running,omitempty"`
	// Violations lists the events that should not have happened while the cluster was quiet.
	Violations []string `json:"broken,omitempty"`
	// GivenBack describes how the balancer was restored; empty while it is kept stopped.
	GivenBack string `json:"givenBack,omitzero"`
	Error     string `json:"error,omitzero"`
	// Commands are the commands that a dry run would have sent.
	Commands []UnsentCommand `json:"commands,omitempty"`
}

// Succeeded reports whether the verdict is a success.
func (r QuiesceResult) Succeeded() bool {
	return r.Verdict == VerdictQuiet || r.Verdict == VerdictEnded || r.Verdict == VerdictDryRun
}

// checkPermitted asks the policies. Restoring the balancer is always permitted.
func (q Quiesce) checkPermitted(ctx context.Context, c Cluster) error {
	if q.End {
		return nil
	}
	return c.checkPermittedNow(ctx, consent.Request{Verb: "quiesce"})
}

// failureText describes the verdict; empty for a success.
func (r QuiesceResult) failureText() string {
	if r.Succeeded() {
		return ""
	}
	return "the verdict is " + string(r.Verdict)
}

// Run quiesces the cluster. The error is a *live.HeldError while another Quiesce is in progress, or the
// error of WhileQuiet.
func (q Quiesce) Run(ctx context.Context, c Cluster, r Reporter) (QuiesceResult, error) {
	if err := q.Validate(); err != nil {
		return QuiesceResult{}, err
	}
	if q.Timeout == 0 {
		q.Timeout = DefaultQuiesceTimeout
	}
	run := &quiesceRun{Quiesce: q, cluster: c, report: &serialReporter{next: r}}
	run.activity = live.ActivityReader{Commands: c.runner(), IgnoreDeletions: q.IgnoreDeletions}
	if c.ClientOptions != nil {
		run.activity.Members = live.NewMemberReader(live.NewCommandRunner(c.Client), c.ClientOptions, nil)
		defer func() {
			ctx, cancel := run.cleanupContext(ctx, closeTimeout)
			defer cancel()
			_ = run.activity.Members.Close(ctx) // nothing was written
		}()
	}
	opening, cancel := withTimer(ctx, q.Timeout)
	defer cancel()
	if err := run.checkAccess(opening); err != nil {
		return QuiesceResult{}, run.timeoutError(ctx, opening, err)
	}
	var err error
	if q.DryRun || c.SimulatesChanges {
		err = run.timeoutError(ctx, opening, run.rehearse(opening))
	} else if refused := q.checkPermitted(opening, c); refused != nil {
		err = run.timeoutError(ctx, opening, refused)
	} else if c, ended, refused := c.beginAudited(ctx, runStart{verb: "quiesce"}); refused != nil {
		err = refused
	} else {
		run.cluster = c
		if q.End {
			err = run.end(ctx)
		} else {
			err = run.quiesce(ctx)
		}
		err = ended(run.result.failureText(), err)
	}
	if err != nil {
		run.result.Error = err.Error()
	}
	return run.result, err
}

// quiesceRun is a Quiesce in progress.
type quiesceRun struct {
	Quiesce
	cluster  Cluster
	activity live.ActivityReader
	report   *serialReporter
	result   QuiesceResult

	lease      *live.Lease
	record     *live.QuiesceRecord
	unanswered bool // the cluster did not answer the last request
}

// checkAccess returns an error if the cluster can't be quiesced, or not by this user.
func (q *quiesceRun) checkAccess(ctx context.Context) error {
	if err := live.CheckSharded(ctx, q.cluster.runner()); err != nil {
		return &NoAnswerError{err}
	}
	if q.cluster.SimulatesChanges {
		return q.cluster.sendFirstWrite(ctx)
	}
	return nil
}

// send sends a command that changes something, after a renewal of the lease.
func (q *quiesceRun) send(ctx context.Context, database string, command bson.D) error {
	if err := q.lease.Renew(ctx); err != nil {
		return err
	}
	_, err := q.cluster.runner().RunCommand(ctx, database, command)
	return live.ServerError(err)
}

// rehearse reads the state once, and reports the commands that a run would send.
func (q *quiesceRun) rehearse(ctx context.Context) error {
	q.result.Verdict = VerdictDryRun
	status, err := q.activity.ReadStatus(ctx)
	if err != nil {
		return &NoAnswerError{err}
	}
	q.result.PreviousMode, q.result.Term = status.Mode, status.Term
	busy, err := q.activity.ReadActivities(ctx, true)
	if err != nil {
		return &NoAnswerError{err}
	}
	q.result.Running = busy
	q.estimateWait(ctx, busy)
	if status.Mode == catalog.ModeOff {
		return nil
	}
	recorded := &recorder{CommandRunner: q.cluster.runner(), report: q.report}
	for _, command := range []bson.D{stopCommand(), startCommand()} {
		if err := recorded.recordUnsent("admin", command); err != nil {
			return err
		}
	}
	q.result.Commands = recorded.unsentCommands
	return nil
}

func stopCommand() bson.D { return bson.D{{Key: "balancerStop", Value: int32(1)}} }

func startCommand() bson.D { return bson.D{{Key: "balancerStart", Value: int32(1)}} }

// estimateWait estimates how long the wait will take.
func (q *quiesceRun) estimateWait(ctx context.Context, busy []live.Activity) {
	var expected, delay time.Duration // the longest delay of the shards
	for _, b := range busy {
		takes := b.Remaining
		if b.Kind == live.ActivityDeletion {
			delay = max(delay, b.Remaining)
		}
		if b.Kind == live.ActivityMigration {
			takes = max(time.Second, q.activity.ReadMedianMigrationTime(ctx)-b.Elapsed)
			if !q.IgnoreDeletions {
				kept := q.activity.ReadCleanupDelay(ctx, b.Shard)
				takes, delay = takes+kept, max(delay, kept)
			}
		}
		expected = max(expected, takes)
	}
	q.result.ExpectedMillis = expected.Milliseconds()
	if len(busy) == 0 {
		return
	}
	text := "Under way: " + busyText(busy) + "."
	switch {
	case expected > q.Timeout:
		text += fmt.Sprintf(" It will probably take %s, longer than the time limit of %s",
			humanize.Duration(expected), humanize.Duration(q.Timeout))
		if !q.IgnoreDeletions {
			text += fmt.Sprintf(" (range deletions wait %s after a move; they can be ignored)",
				humanize.Duration(delay))
		}
		text += "."
	case expected > 0:
		text += fmt.Sprintf(" It will probably take %s.", humanize.Duration(expected))
	}
	q.report.note(text)
}

// busyText names the first few running operations and the number of the others.
func busyText(busy []live.Activity) string {
	texts := make([]string, len(busy))
	for i, b := range busy {
		texts[i] = b.String()
	}
	return joinAtMost(texts, 5)
}

// restoreTimeout is the maximum time to restore the balancer. If restoring fails, the record stays.
const restoreTimeout = 30 * time.Second

// finish restores the balancer and releases the lease. It continues when ctx has ended.
func (q *quiesceRun) finish(ctx context.Context, leave func(context.Context) error) error {
	ctx, cancel := q.cleanupContext(ctx, restoreTimeout)
	defer cancel()
	err := q.retry(ctx, q.restoreBalancer)
	unanswered := errors.Is(context.Cause(ctx), errUnanswered)
	if err != nil {
		if unanswered {
			err = errUnanswered
		}
		err = fmt.Errorf("%s: %w", q.failedRestoreText(), err)
	}
	if unanswered {
		_ = leave(ctx) // the lease expires by itself
		return err
	}
	if leave(ctx) == nil {
		return err
	}
	released := q.retry(ctx, q.lease.Release)
	if released != nil && errors.Is(context.Cause(ctx), errUnanswered) {
		released = fmt.Errorf("the lease runs out by itself: %w", errUnanswered)
	}
	return errors.Join(err, released)
}

// failedRestoreText describes the remaining state after a failed restoration.
func (q *quiesceRun) failedRestoreText() string {
	if q.result.GivenBack != "" {
		return "the record of this quiesce in the cluster could not be removed; to remove it, run shardsh quiesce --end"
	}
	return "the balancer is still stopped; to start it again, run shardsh quiesce --end"
}

// hurriedAnswerTimeout is the time in which the cluster has to answer after the user has stopped the
// run. answerTimeout is the time before that. answerCheckInterval is the interval of the checks.
const (
	hurriedAnswerTimeout = 400 * time.Millisecond
	answerTimeout        = 4 * time.Second
	answerCheckInterval  = 500 * time.Millisecond
)

var errUnanswered = errors.New("can't reach the cluster: it does not answer")

// cleanupContext returns a context for the work after a run, whose ctx may have ended or may end during
// this work. The returned context ends after a time limit, and as soon as the cluster does not answer.
// It ends sooner if the run is stopped, or if the cluster did not answer before.
func (q *quiesceRun) cleanupContext(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	run, hurried := ctx, q.unanswered
	ctx, cancel := withTimer(context.WithoutCancel(ctx), limit)
	ctx, giveUp := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if !q.watchAnswers(ctx, run, hurried) {
			giveUp(errUnanswered)
		}
	})
	return ctx, func() { cancel(); watching.Wait() }
}

// watchAnswers sends requests to the cluster at intervals until ctx ends. It returns false once the
// cluster does not answer. The timeouts are longer until the user stops the run.
func (q *quiesceRun) watchAnswers(ctx, run context.Context, hurried bool) bool {
	patience, pause := answerTimeout, answerCheckInterval
	hurry := func() { hurried, patience, pause = true, hurriedAnswerTimeout, hurriedAnswerTimeout/4 }
	if hurried {
		hurry()
	}
	for last := time.Now(); ; {
		asking, cancel := withTimer(ctx, patience)
		hurries := func() bool { return true }
		if !hurried {
			hurries = context.AfterFunc(run, cancel)
		}
		_, err := q.cluster.now(asking)
		hurries()
		cancel()
		switch {
		case ctx.Err() != nil:
			return true
		case hurried && err != nil:
			return false
		case isAnswer(err):
			last = time.Now()
		case run.Err() != nil || time.Since(last) >= answerTimeout: // the driver may give up before that
			hurry()
			continue
		}
		ended := run.Done()
		if hurried {
			ended = nil
		}
		select {
		case <-ctx.Done():
			return true
		case <-ended:
			hurry()
		case <-time.After(pause):
		}
	}
}

// isAnswer reports whether the cluster has answered, if only with an error.
func isAnswer(err error) bool { return err == nil || errors.As(err, new(*mongoerr.ServerError)) }

// retry calls do until it succeeds, for some seconds: a shard may be electing a new primary.
func (q *quiesceRun) retry(ctx context.Context, do func(context.Context) error) error {
	const tries, between = 40, 500 * time.Millisecond
	for n := 1; ; n++ {
		err := do(ctx)
		final := errors.As(err, new(*live.HeldError)) || errors.Is(err, live.ErrLeaseLost) ||
			mongoerr.Is(err, mongoerr.Unauthorized)
		if err == nil || final || n == tries || q.cluster.Clock.Sleep(ctx, between) != nil {
			return err
		}
	}
}

// restoreBalancer starts the balancer again if it was on, unless another client has stopped it in the
// meantime, and removes the record.
func (q *quiesceRun) restoreBalancer(ctx context.Context) error {
	status, err := q.activity.ReadStatus(ctx)
	if err != nil {
		return err
	}
	text := "the balancer stays off, as before"
	switch others, err := q.stoppedByOthers(ctx); {
	case q.record.Mode == catalog.ModeOff:
	case err != nil:
		return err
	case others:
		text = "the balancer stays off: another user has stopped it in the meantime"
	case status.Mode != catalog.ModeOff && !q.record.Restarting:
		text = "the balancer is on already"
	default:
		if err := q.restartBalancer(ctx); err != nil {
			return err
		}
		text = "the balancer is on again"
	}
	q.result.GivenBack = text
	return live.RemoveQuiesceRecord(ctx, q.cluster.Client)
}

// stoppedByOthers reports whether another client has stopped the balancer as well.
func (q *quiesceRun) stoppedByOthers(ctx context.Context) (bool, error) {
	if q.record.Mode == catalog.ModeOff || q.record.Restarting {
		return false, nil
	}
	entries, found, err := q.actionsSince(ctx, q.record.BeforeStopMark)
	if err != nil || !found {
		return false, err
	}
	stops := 0
	for _, e := range entries {
		if e.What == "balancer.stop" {
			stops++
		}
	}
	return stops > q.record.Stops, nil
}

// restartBalancer restores the mode, and the switches that a start of the balancer turns on as well. It records
// that first: after a kill, the restart is repeated.
func (q *quiesceRun) restartBalancer(ctx context.Context) error {
	q.record.Restarting = true
	if err := q.record.Save(ctx, q.cluster.Client); err != nil {
		return err
	}
	if q.record.Mode != catalog.ModeFull { // autoSplitOnly, up to 4.2
		return q.send(ctx, "config", live.SetSettingCommand("balancer", "mode", string(q.record.Mode)))
	}
	if err := q.send(ctx, "admin", startCommand()); err != nil {
		return err
	}
	for _, id := range q.record.DisabledSettings {
		if err := q.send(ctx, "config", live.SetSettingCommand(id, "enabled", false)); err != nil {
			return err
		}
	}
	return nil
}
