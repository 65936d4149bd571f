package apply

import (
	"context"
	"errors"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// outcome is what a step under way has to say: that it may begin, how it ended, or
// that it is tried again, as the kind of an event.
type outcome struct {
	step    plan.Step
	entered bool
	err     error
	again   Kind
}

// round runs the steps of one round, some at once where they have no shard in
// common. Steps that have one keep their order.
func (r *run) round(ctx context.Context, waiting []plan.Step) (failure error) {
	outcomes := make(chan outcome)
	var running []plan.Step
	entering := false
	for {
		if i := nextFree(waiting, running); failure == nil && r.result.Stopped == "" && !entering && i >= 0 &&
			len(running) < r.o.Parallel {
			s := waiting[i]
			waiting = append(waiting[:i:i], waiting[i+1:]...)
			running, entering = append(running, s), true
			r.enter(ctx, s, outcomes)
		}
		if len(running) == 0 {
			return failure
		}
		out, more := r.next(ctx, outcomes, running, len(running) > 1 || !entering)
		var err error
		switch {
		case !more:
			continue
		case out.entered:
			var goes bool
			goes, entering, err = r.entered(ctx, out, outcomes, failure != nil)
			if goes {
				continue
			}
		default:
			err = r.end(ctx, out)
		}
		running = without(running, out.step)
		if failure == nil {
			failure = err
		}
	}
}

// paceOf is a step as far as the pace goes by it.
func (r *run) paceOf(s plan.Step) pace.Move {
	return pace.Move{
		Most: r.most[s.Namespace],

		Namespace: s.Namespace, Min: s.Min, Max: s.Max, From: s.From, To: s.To, Bytes: s.Bytes, Stays: s.Kind != plan.Move,
		Whole: s.Kind == plan.Move && s.Within == nil,
	}
}

// enter waits, beside what is under way, until a step may begin.
func (r *run) enter(ctx context.Context, s plan.Step, outcomes chan<- outcome) {
	go func() { outcomes <- outcome{step: s, entered: true, err: r.o.Pace.Enter(ctx, r.paceOf(s))} }()
}

// errHeld says that somebody has stopped the balancer: a step that was let in waits again.
var errHeld = errors.New("the balancer was stopped")

func balancerOn(look *catalog.Snapshot) bool { return look.Parts().Balancer.Mode != catalog.ModeOff }

// entered begins a step that may begin, and reports whether it is under way, or enters
// again.
func (r *run) entered(ctx context.Context, out outcome, outcomes chan<- outcome, over bool) (
	goes, entering bool, err error) {
	if err := r.mayNot(ctx, out.err); err != nil || out.err != nil {
		return false, false, err
	}
	s := out.step
	var t remainder
	if r.result.Stopped == "" && !over {
		t, err = r.begin(ctx, s)
	}
	if errors.Is(err, errHeld) {
		r.o.Pace.Leave(r.paceOf(s), pace.ErrNotBegun)
		r.enter(ctx, s, outcomes)
		return true, true, nil
	}
	if err != nil || len(t.commands) == 0 {
		r.o.Pace.Leave(r.paceOf(s), pace.ErrNotBegun)
		return false, false, err
	}
	go func() { outcomes <- outcome{step: s, err: r.carry(ctx, s, t, outcomes)} }()
	return true, false, nil
}

// mayNot stops the run where the pace lets nothing begin any more, and returns an
// error where somebody is to be asked.
func (r *run) mayNot(ctx context.Context, err error) error {
	over, is := errors.AsType[*pace.OverError](err)
	switch {
	case err == nil:
		return nil
	case is:
		r.result.Stopped, r.result.Fixed = over.Why, over.Fixed
	case ctx.Err() != nil:
		r.result.Stopped = interrupted
	default:
		return err
	}
	return nil
}

// next waits for an outcome, and for the end of ctx the first time, of which it
// tells where something is under way. Meanwhile it may tell what is.
func (r *run) next(ctx context.Context, outcomes <-chan outcome, running []plan.Step, busy bool) (
	out outcome, ended bool) {
	stop := ctx.Done()
	if r.result.Stopped != "" {
		stop = nil
	}
	select {
	case out = <-outcomes:
	case <-stop:
		r.result.Stopped = interrupted
		if busy {
			r.tell(Event{Kind: Waiting})
		}
		return out, false
	case <-r.o.Tick:
		r.going(running)
		return out, false
	}
	if out.again != "" {
		r.tell(Event{Kind: out.again, Step: out.step, Err: out.err})
		return out, false
	}
	return out, true
}

// going tells of the oldest of the steps that have begun.
func (r *run) going(running []plan.Step) {
	for _, s := range running {
		if began, has := r.began[s.Number]; has {
			r.tell(Event{Kind: Going, Step: s, Age: r.o.Clock.Now().Sub(began)})
			return
		}
	}
}

const interrupted = "interrupted"

// nextFree returns the position of the first step that shares no shard with one
// that runs, or that was to run before it; -1 when there is none.
func nextFree(waiting, running []plan.Step) int {
	busy := map[catalog.ShardID]bool{}
	take := func(s plan.Step) { busy[s.From], busy[s.To] = true, true }
	for _, s := range running {
		take(s)
	}
	for i, s := range waiting {
		delete(busy, "") // those that do not move have no recipient
		if !busy[s.From] && !busy[s.To] {
			return i
		}
		take(s)
	}
	return -1
}

func without(steps []plan.Step, s plan.Step) (left []plan.Step) {
	for _, other := range steps {
		if other.Number != s.Number {
			left = append(left, other)
		}
	}
	return left
}

// begin checks a step and writes down that it begins. It returns no commands
// where there is nothing to do.
func (r *run) begin(ctx context.Context, s plan.Step) (t remainder, err error) {
	if r.stays[s.Number] {
		return t, nil
	}
	look, err := r.look(ctx)
	if err != nil {
		return t, err
	}
	if !r.o.Pace.Balancer(balancerOn(look)) {
		return t, errHeld
	}
	if err := BalancerWorks(look, r.namespaces, aStep); err != nil {
		return t, r.switchedOn(err)
	}
	if t, err = r.ground(look).check(ctx, s); err != nil {
		return t, err
	}
	if len(t.commands) == 0 {
		if err := r.write(Record{What: ended, Step: s.Number, Already: true}); err != nil {
			return t, err
		}
		r.done[s.Number] = true
		r.tell(Event{Kind: Already, Step: s})
		return t, nil
	}
	if err := r.write(Record{
		What: began, Step: s.Number, Before: t.before, Min: t.span.Min, Max: t.span.Max,
	}); err != nil {
		return t, err
	}
	r.shared.Lock()
	if s.Within != nil {
		r.spans[s.Number] = t.span
	}
	if _, has := r.before[s.Number]; !has { // going on finds what it has cut itself
		r.before[s.Number] = t.before
	}
	r.shared.Unlock()
	r.began[s.Number] = r.o.Clock.Now()
	r.tell(Event{Kind: Began, Step: s})
	return t, nil
}

// end writes down how a step ended.
func (r *run) end(ctx context.Context, out outcome) error {
	if over, is := errors.AsType[*pace.OverError](out.err); is { // going on finds it begun
		r.result.Stopped, r.result.Fixed = over.Why, over.Fixed
		return nil
	}
	if stays, is := errors.AsType[*StaysError](out.err); is {
		return r.stay(stays)
	}
	if out.err != nil {
		asked := ctx.Err() != nil && mongoerr.Is(out.err, mongoerr.Interrupted) // of its donor, by whoever ends the run
		if !asked {
			r.result.Failures++
			r.tell(Event{Kind: Failed, Step: out.step, Err: out.err})
		}
		if err := r.write(Record{What: failed, Step: out.step.Number, Error: out.err.Error()}); err != nil {
			return err
		}
		if asked {
			return nil
		}
		return out.err
	}
	if err := r.write(Record{What: ended, Step: out.step.Number}); err != nil {
		return err
	}
	r.done[out.step.Number] = true
	r.shared.Lock()
	r.here.StepsHere++
	r.shared.Unlock()
	r.tell(Event{Kind: Ended, Step: out.step})
	if err := r.notMore(out.step); err != nil {
		return err
	}
	return r.notLess(out.step)
}
