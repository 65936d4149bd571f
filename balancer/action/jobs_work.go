package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// carryOut runs the plan until the time of the call is over.
func (j *jobCall) carryOut(
	ctx context.Context, l *leased, a aim, work *apply.Execution, gate *pace.Gate, left time.Duration,
) (apply.Result, error) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j.stop = stop
	hard, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	if j.Hard != nil {
		defer context.AfterFunc(j.Hard, abandon)()
	}
	defer context.AfterFunc(running, func() { time.AfterFunc(jobGrace, abandon) })()
	timer := time.AfterFunc(left+jobPrepares, func() { stop(errWorkedFor) })
	defer timer.Stop()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		j.watch(running)
	}()
	defer func() {
		stop(nil)
		<-watched
	}()
	a.Hard = hard
	o := job{
		verb: string(a.kind), RunOptions: a.RunOptions, onChange: apply.Replan, goal: true, around: a.around,
	}.options(l, work, gate, j.r)
	ready, tell := o.Ready, o.Tell
	o.Ready = func(ctx context.Context) error {
		timer.Reset(left)
		if ready == nil {
			return nil
		}
		return ready(ctx)
	}
	o.Tell = func(e apply.Event) {
		j.progress(e.Progress)
		tell(e)
	}
	o.Checked = j.resumed
	o.Keeps = func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.waits == nil && !j.job.Cancel && errors.Is(context.Cause(running), errWorkedFor)
	}
	l.steps = lookingSteps{l.steps, j}
	leaving, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	if j.Hard != nil {
		defer context.AfterFunc(j.Hard, hurry)()
	}
	defer context.AfterFunc(running, func() { time.AfterFunc(jobGivesBack, hurry) })()
	l.leaving = leaving
	result, err := l.run(running, work, o, nil, j.r)
	j.progress(result.Progress)
	switch {
	case err != nil || result.Stopped == "" || running.Err() == nil:
		return result, err
	case ctx.Err() != nil:
		return result, errWorkedFor
	}
	return result, context.Cause(running)
}

// lookingSteps are steps that look before each whether the job is cancelled.
type lookingSteps struct {
	stepper
	job *jobCall
}

// Snapshot looks at the job, and then reads the cluster.
func (s lookingSteps) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	if err := s.job.look(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.stepper.Snapshot(ctx, namespaces)
}

// look writes how far the job is, and has nothing more begin if it is cancelled, or another
// call has taken it over.
func (j *jobCall) look(ctx context.Context) error {
	j.mu.Lock()
	now := *j.job
	j.mu.Unlock()
	now.State, now.BlockedBy, now.Error = live.JobRunning, nil, ""
	saved, err := j.jobs.Save(ctx, &now)
	switch {
	case errors.Is(err, live.ErrJobTaken):
		j.stop(err)
		return nil
	case err != nil:
		return err
	}
	j.mu.Lock()
	j.job.Cancel = saved.Cancel
	j.mu.Unlock()
	if saved.Cancel {
		j.stop(errCancelled)
	}
	return nil
}

// watch has a wait end when the job is cancelled meanwhile.
func (j *jobCall) watch(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if job, err := j.jobs.Get(ctx, j.job.ID); err == nil && job != nil && job.Cancel {
			j.mu.Lock()
			j.job.Cancel = true
			j.mu.Unlock()
			j.stop(errCancelled)
		}
	}
}

// progress takes over how far the plan is.
func (j *jobCall) progress(p apply.Progress) {
	if p.Steps == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	moves, bytes := j.before.MovesDone, j.before.BytesDone
	is := live.JobProgress{
		Steps: p.Steps, StepsDone: p.StepsDone, Moves: p.Moves + moves, MovesDone: p.MovesDone + moves,
		Bytes: p.Bytes + bytes, BytesDone: p.BytesDone + bytes,
	}
	switch {
	case is.Bytes > 0:
		is.Percent = percent(is.BytesDone, is.Bytes)
	case is.Steps > 0:
		is.Percent = percent(int64(is.StepsDone), int64(is.Steps))
	}
	if took := j.job.Updated.Sub(j.job.Began); is.BytesDone > 0 && took > 0 {
		is.ETA = int64(took.Seconds() * float64(is.Bytes-is.BytesDone) / float64(is.BytesDone))
	}
	j.job.Progress = is
}

func percent(done, of int64) float64 { return float64(done*1000/of) / 10 }

// Report takes over what nothing begins for.
func (j *jobCall) Report(e Event) {
	if w, is := e.(Wait); is {
		j.mu.Lock()
		if j.waits = nil; !w.Over {
			j.waits = &w.Event
		}
		j.mu.Unlock()
	}
	j.r.Report(e)
}

// await waits for the end of the moves that calls before this one have begun and left to
// the cluster. It returns one that outlasts this call.
func (j *jobCall) await(
	ctx context.Context, l *leased, h *apply.History, left time.Duration,
) (*catalog.ActiveMigration, error) {
	steps := h.Unended()
	if len(steps) == 0 {
		return nil, nil
	}
	for began := time.Now(); ; {
		s, err := live.NewCommandReader(l.runner, live.ReaderOptions{
			Parts: live.Migrations, Required: live.Migrations, Release: l.lease.Release(), Wait: time.Minute,
		}).Read(ctx)
		if err != nil {
			return nil, &AccessError{live.ServerError(err)}
		}
		moving := oneOf(s.Parts().Migrations, steps)
		if moving == nil || time.Since(began) >= left {
			return moving, nil
		}
		if j.Clock.Sleep(ctx, jobLooks) != nil {
			return moving, nil //nolint:nilerr // the call is over
		}
	}
}

// oneOf returns a migration that belongs to one of some steps.
func oneOf(moving []catalog.ActiveMigration, steps []plan.Step) *catalog.ActiveMigration {
	for _, m := range moving {
		for _, s := range steps {
			if m.Namespace == s.Namespace && (m.From == "" || m.From == s.From) && (m.To == "" || m.To == s.To) {
				return &m
			}
		}
	}
	return nil
}

func moveBlock(m catalog.ActiveMigration) live.JobBlock {
	return live.JobBlock{
		What: "move", Text: fmt.Sprintf("the move of %s from %s to %s that an earlier call began goes on", m.Namespace,
			m.From, m.To),
		Remedy: "wait: the next call goes on when it is over",
	}
}
