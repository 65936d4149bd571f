package apply

import (
	"context"
	"errors"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// stepMessage is a message from a running step: the step may begin, has ended, or is retried. The latter is
// the kind of an event.
type stepMessage struct {
	step      plan.Step
	admission bool
	err       error
	retryKind EventKind
}

// runRound runs the steps of one round. Steps without a common shard run in parallel; steps with a
// common shard keep their order.
func (r *run) runRound(ctx context.Context, waiting []plan.Step) (failure error) {
	outcomes := make(chan stepMessage)
	var running []plan.Step
	entering := false
	for {
		if i := nextStartable(waiting, running); failure == nil && r.result.Stopped == "" && !entering && i >= 0 &&
			len(running) < r.o.Parallel {
			s := waiting[i]
			waiting = append(waiting[:i:i], waiting[i+1:]...)
			running, entering = append(running, s), true
			r.requestAdmission(ctx, s, outcomes)
		}
		if len(running) == 0 {
			return failure
		}
		out, more := r.nextOutcome(ctx, outcomes, running, len(running) > 1 || !entering)
		var err error
		switch {
		case !more:
			continue
		case out.admission:
			var goes bool
			goes, entering, err = r.startAdmitted(ctx, out, outcomes, failure != nil)
			if goes {
				continue
			}
		default:
			err = r.endStep(ctx, out)
		}
		running = slices.DeleteFunc(running, func(s plan.Step) bool { return s.Number == out.step.Number })
		if failure == nil {
			failure = err
		}
	}
}

// paceMove returns a step in the form that the pace gate needs.
func (r *run) paceMove(s plan.Step) pace.Move {
	return pace.Move{
		MaxBytes: r.maxMoveBytes[s.Namespace],

		Namespace:    s.Namespace,
		Min:          s.Min,
		Max:          s.Max,
		From:         s.From,
		To:           s.To,
		Bytes:        s.Bytes,
		MovesNothing: s.Kind != plan.Move,
		WholeRange:   s.Kind == plan.Move && s.KnownRange == nil,
	}
}

// requestAdmission waits in a goroutine until a step may begin.
func (r *run) requestAdmission(ctx context.Context, s plan.Step, outcomes chan<- stepMessage) {
	go func() { outcomes <- stepMessage{step: s, admission: true, err: r.o.Gate.Enter(ctx, r.paceMove(s))} }()
}

// errBalancerStopped says that the balancer was stopped by a user: an admitted step waits again.
var errBalancerStopped = errors.New("the balancer was stopped")

func isBalancerOn(look *catalog.Snapshot) bool { return look.Parts().Balancer.Mode != catalog.ModeOff }

// startAdmitted begins a step that may begin. It reports whether the step is running, or waits at the
// gate again.
func (r *run) startAdmitted(ctx context.Context, out stepMessage, outcomes chan<- stepMessage, over bool) (
	goes, entering bool, err error) {
	if err := r.handlePaceError(ctx, out.err); err != nil || out.err != nil {
		return false, false, err
	}
	s := out.step
	var t remainingWork
	if r.result.Stopped == "" && !over {
		t, err = r.beginStep(ctx, s)
	}
	if errors.Is(err, errBalancerStopped) {
		r.o.Gate.Leave(r.paceMove(s), pace.ErrNotBegun)
		r.requestAdmission(ctx, s, outcomes)
		return true, true, nil
	}
	if err != nil || len(t.commands) == 0 {
		r.o.Gate.Leave(r.paceMove(s), pace.ErrNotBegun)
		return false, false, err
	}
	go func() { outcomes <- stepMessage{step: s, err: r.runStep(ctx, s, t, outcomes)} }()
	return true, false, nil
}

// handlePaceError stops the run if the pace allows no more steps, and returns an
// error if the user has to decide.
func (r *run) handlePaceError(ctx context.Context, err error) error {
	over, ok := errors.AsType[*pace.RunOverError](err)
	switch {
	case err == nil:
		return nil
	case ok:
		r.result.Stopped, r.result.LimitIsFixed = over.Why, over.FromPolicy
	case ctx.Err() != nil:
		r.result.Stopped = pace.StoppedByInterrupt
	default:
		return err
	}
	return nil
}

// nextOutcome waits for an outcome or, the first time, for the end of ctx. At the end of ctx it emits
// an event if steps are running. While it waits, it may report the running step.
func (r *run) nextOutcome(ctx context.Context, outcomes <-chan stepMessage, running []plan.Step, busy bool) (
	out stepMessage, ended bool) {
	stop := ctx.Done()
	if r.result.Stopped != "" {
		stop = nil
	}
	select {
	case out = <-outcomes:
	case <-stop:
		r.result.Stopped = pace.StoppedByInterrupt
		if busy {
			r.emit(Event{Kind: WaitingToStop})
		}
		return out, false
	case <-r.o.ReportTick:
		r.emitOldestRunning(running)
		return out, false
	}
	if out.retryKind != "" {
		r.emit(Event{Kind: out.retryKind, Step: out.step, Err: out.err})
		return out, false
	}
	return out, true
}

// emitOldestRunning emits an event for the oldest running step.
func (r *run) emitOldestRunning(running []plan.Step) {
	for _, s := range running {
		if began, ok := r.began[s.Number]; ok {
			r.emit(Event{Kind: StillRunning, Step: s, StepAge: r.o.Clock.Now().Sub(began)})
			return
		}
	}
}

// nextStartable returns the index of the first step that has no shard in common with a running step or with
// a waiting step before it; -1 if there is none.
func nextStartable(waiting, running []plan.Step) int {
	busy := map[catalog.ShardID]bool{}
	take := func(s plan.Step) { busy[s.From], busy[s.To] = true, true }
	for _, s := range running {
		take(s)
	}
	for i, s := range waiting {
		delete(busy, "") // splits and merges have no recipient
		if !busy[s.From] && !busy[s.To] {
			return i
		}
		take(s)
	}
	return -1
}

// beginStep checks a step and records that it begins. It returns no commands if there is nothing to do.
func (r *run) beginStep(ctx context.Context, s plan.Step) (t remainingWork, err error) {
	if r.needsForce[s.Number] {
		return t, nil
	}
	look, err := r.readSnapshot(ctx)
	if err != nil {
		return t, err
	}
	if !r.o.Gate.NoteBalancer(isBalancerOn(look)) {
		return t, errBalancerStopped
	}
	if err := CheckBalancerIdle(look, r.namespaces, defaultStepTime); err != nil {
		return t, r.markReenabled(err)
	}
	if t, err = r.newClusterState(look).check(ctx, s); err != nil {
		return t, err
	}
	if len(t.commands) == 0 {
		if err := r.write(Record{What: recordEnded, Step: s.Number, AlreadyDone: true}); err != nil {
			return t, err
		}
		r.done[s.Number] = true
		r.emit(Event{Kind: AlreadyDone, Step: s})
		return t, nil
	}
	if err := r.write(Record{
		What: recordBegan, Step: s.Number, Before: t.before, Min: t.actualRange.Min, Max: t.actualRange.Max,
	}); err != nil {
		return t, err
	}
	r.mu.Lock()
	if s.KnownRange != nil {
		r.actualRanges[s.Number] = t.actualRange
	}
	if _, ok := r.priorChunks[s.Number]; !ok { // a resumed run has the chunks from the journal
		r.priorChunks[s.Number] = t.before
	}
	r.mu.Unlock()
	r.began[s.Number] = r.o.Clock.Now()
	r.emit(Event{Kind: Began, Step: s})
	return t, nil
}

// endStep records the outcome of a step.
func (r *run) endStep(ctx context.Context, out stepMessage) error {
	if over, ok := errors.AsType[*pace.RunOverError](out.err); ok { // a resumed run continues the step
		r.result.Stopped, r.result.LimitIsFixed = over.Why, over.FromPolicy
		return nil
	}
	if stays, ok := errors.AsType[*NeedsForceError](out.err); ok {
		return r.noteLeftInPlace(stays)
	}
	if out.err != nil {
		asked := ctx.Err() != nil && mongoerr.Is(out.err, mongoerr.Interrupted) // the end of the run interrupted the donor
		if !asked {
			r.result.Failures++
			r.emit(Event{Kind: Failed, Step: out.step, Err: out.err})
		}
		if err := r.write(Record{What: recordFailed, Step: out.step.Number, Error: out.err.Error()}); err != nil {
			return err
		}
		if asked {
			return nil
		}
		return out.err
	}
	if err := r.write(Record{What: recordEnded, Step: out.step.Number}); err != nil {
		return err
	}
	r.done[out.step.Number] = true
	r.mu.Lock()
	r.thisRun.StepsThisRun++
	r.mu.Unlock()
	r.emit(Event{Kind: Ended, Step: out.step})
	if err := r.checkNotTooMuch(out.step); err != nil {
		return err
	}
	return r.checkNotTooLittle(out.step)
}
