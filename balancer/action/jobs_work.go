package action

import (
	"context"
	"errors"
	"sync"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// execute runs the plan until the time of the call is over, or the context `running` ends.
func (j *jobCall) execute(
	ctx, running context.Context, l *leasedRun, w jobWork, left time.Duration,
) (apply.Result, error) {
	hard, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	leaving, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	if j.AbortContext != nil {
		defer context.AfterFunc(j.AbortContext, func() { abandon(); hurry() })()
	}
	defer context.AfterFunc(running, func() {
		time.AfterFunc(jobStepGrace, abandon)
		time.AfterFunc(jobRestoreTimeout, hurry)
	})()
	timer := time.AfterFunc(left+jobPrepareTimeout, func() { j.stop(errCallTimeOver) })
	defer timer.Stop()
	w.AbortContext, l.releaseCtx = hard, leaving
	o := planRun{
		verb: string(w.kind), RunOptions: w.RunOptions, changePolicy: apply.ReplanOnChange, hasGoal: true,
		addHooks: w.addHooks,
	}.options(l, w.Execution, w.gate, j.report)
	ready, tell := o.OnReady, o.OnEvent
	o.OnReady = func(ctx context.Context) error {
		timer.Reset(left)
		if ready == nil {
			return nil
		}
		return ready(ctx)
	}
	o.OnEvent = func(e apply.Event) {
		j.recordProgress(e.Progress)
		tell(e)
	}
	o.StepsChecked = j.resumed
	o.WillContinue = func() bool { return j.keepsBalancingPaused(context.Cause(running)) }
	l.steps = cancellableStepper{l.steps, j}
	result, err := l.run(running, w.Execution, o, nil, j.report)
	j.recordProgress(result.Progress)
	switch {
	case err != nil || result.Stopped == "" || running.Err() == nil:
		return result, err
	case ctx.Err() != nil:
		return result, errCallTimeOver
	}
	return result, context.Cause(running)
}

// cancellableStepper are steps that check before each step whether the job is cancelled.
type cancellableStepper struct {
	stepper
	job *jobCall
}

// Snapshot saves the progress of the job, which detects a cancellation, and then reads the cluster.
func (s cancellableStepper) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	if err := s.job.saveProgress(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.stepper.Snapshot(ctx, namespaces)
}

// saveProgress saves the progress of the job. If the job was cancelled, or another call has taken it
// over, saveProgress prevents new steps.
func (j *jobCall) saveProgress(ctx context.Context) error {
	j.mu.Lock()
	now := *j.job
	j.mu.Unlock()
	now.State, now.BlockedBy, now.Error, now.Worked = live.JobRunning, nil, "", j.gate.Spent()
	saved, err := j.jobs.Save(ctx, &now)
	switch {
	case errors.Is(err, live.ErrJobTaken):
		j.stop(err)
		return nil
	case err != nil:
		return err
	}
	j.mu.Lock()
	j.job.Cancel, j.job.Updated = saved.Cancel, saved.Updated
	j.mu.Unlock()
	if saved.Cancel {
		j.stop(errCancelled)
	}
	return nil
}

// watchCancel ends a wait when the job is cancelled, until ctx ends. The returned function waits for
// the end of the watch.
func (j *jobCall) watchCancel(ctx context.Context) (wait func()) {
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if job, err := j.jobs.Find(ctx, j.job.ID); err == nil && job != nil && job.Cancel {
				j.mu.Lock()
				j.job.Cancel = true
				j.mu.Unlock()
				j.stop(errCancelled)
			}
		}
	})
	return func() {
		j.stop(nil)
		watching.Wait()
	}
}

// recordProgress copies the progress of the plan to the job.
func (j *jobCall) recordProgress(p apply.Progress) {
	if p.Steps == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	moves, bytes := j.earlierProgress.MovesDone, j.earlierProgress.BytesDone
	total := live.JobProgress{
		Steps: p.Steps, StepsDone: p.StepsDone, Moves: p.Moves + moves, MovesDone: p.MovesDone + moves,
		Bytes: p.Bytes + bytes, BytesDone: p.BytesDone + bytes,
	}
	switch {
	case total.Bytes > 0:
		total.Percent = percent(total.BytesDone, total.Bytes)
	case total.Steps > 0:
		total.Percent = percent(int64(total.StepsDone), int64(total.Steps))
	}
	if took := j.job.Updated.Sub(j.job.Began); total.BytesDone > 0 && took > 0 {
		total.ETASeconds = int64(took.Seconds() * float64(total.Bytes-total.BytesDone) / float64(total.BytesDone))
	}
	j.job.Progress = total
}

func percent(done, of int64) float64 { return float64(done*1000/of) / 10 }

// Report records why no step may start, and then passes the event on.
func (j *jobCall) Report(e Event) {
	if w, ok := e.(Wait); ok {
		j.mu.Lock()
		if j.waitEvent = nil; !w.WaitEnded {
			j.waitEvent = &w.Event
		}
		j.mu.Unlock()
	}
	j.report.Report(e)
}

// awaitEarlierMoves waits for the end of the moves that earlier calls have started and left to the
// cluster. The error is a *earlierMoveError if a move takes longer than this call.
func (j *jobCall) awaitEarlierMoves(ctx context.Context, l *leasedRun, h *apply.ParsedJournal,
	left time.Duration) error {
	steps := h.UnfinishedSteps()
	if len(steps) == 0 {
		return nil
	}
	for began := time.Now(); ; {
		s, err := live.NewCommandReader(l.runner, live.ReaderOptions{
			Parts: live.RunningMigrations, Required: live.RunningMigrations, Release: l.lease.Release(),
			MaxShardWait: time.Minute,
		}).Read(ctx)
		if err != nil {
			return &NoAnswerError{live.ServerError(err)}
		}
		moving := findMigration(s.Parts().Migrations, steps)
		if moving == nil {
			return nil
		}
		if time.Since(began) >= left || j.Clock.Sleep(ctx, jobPollInterval) != nil {
			return &earlierMoveError{*moving}
		}
	}
}

// findMigration returns a running migration that belongs to one of the steps.
func findMigration(moving []catalog.ActiveMigration, steps []plan.Step) *catalog.ActiveMigration {
	for _, m := range moving {
		for _, s := range steps {
			if m.Namespace == s.Namespace && (m.From == "" || m.From == s.From) && (m.To == "" || m.To == s.To) {
				return &m
			}
		}
	}
	return nil
}
