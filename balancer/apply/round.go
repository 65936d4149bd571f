package apply

import (
	"context"
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// outcome is what a step under way has to say: how it ended, or that it is tried
// again, as the kind of an event.
type outcome struct {
	step  plan.Step
	err   error
	again Kind
}

// round runs the steps of one round, some at once where they have no shard in
// common. Steps that have one keep their order.
func (r *run) round(ctx context.Context, waiting []plan.Step) (failure error) {
	outcomes := make(chan outcome)
	var running []plan.Step
	for {
		for failure == nil && r.result.Stopped == "" && len(running) < r.o.Parallel {
			i := nextFree(waiting, running)
			if i < 0 {
				break
			}
			s := waiting[i]
			t, err := r.begin(ctx, s)
			if failure = err; err != nil || r.result.Stopped != "" {
				break
			}
			waiting = append(waiting[:i:i], waiting[i+1:]...)
			if len(t.commands) > 0 {
				running = append(running, s)
				go func() { outcomes <- outcome{step: s, err: r.carry(ctx, s, t, outcomes)} }()
			}
		}
		if len(running) == 0 {
			return failure
		}
		out, more := r.next(ctx, outcomes)
		if !more {
			continue
		}
		running = without(running, out.step)
		if err := r.end(out); err != nil && failure == nil {
			failure = err
		}
	}
}

// next waits for an outcome, and for the end of ctx the first time, of which it
// tells.
func (r *run) next(ctx context.Context, outcomes <-chan outcome) (out outcome, ended bool) {
	stop := ctx.Done()
	if r.result.Stopped != "" {
		stop = nil
	}
	select {
	case out = <-outcomes:
	case <-stop:
		r.result.Stopped = interrupted
		r.tell(Event{Kind: Waiting})
		return out, false
	}
	if out.again != "" {
		r.tell(Event{Kind: out.again, Step: out.step, Err: out.err})
		return out, false
	}
	return out, true
}

const interrupted = "it was interrupted"

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
// where there is nothing to do, and where the run is to stop.
func (r *run) begin(ctx context.Context, s plan.Step) (t todo, err error) {
	if r.o.Pause > 0 && r.claimed.StepsHere > 0 && ctx.Err() == nil {
		_ = r.o.Clock.Sleep(ctx, r.o.Pause) // whose end is looked at next
	}
	if r.result.Stopped = r.over(ctx, s); r.result.Stopped != "" {
		return t, nil
	}
	look, err := r.look(ctx)
	if err != nil {
		return t, err
	}
	if err := BalancerWorks(look, r.namespaces, aStep); err != nil {
		return t, err
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
	if err := r.write(Record{What: began, Step: s.Number, Before: t.before}); err != nil {
		return t, err
	}
	r.claimed.add(s)
	r.tell(Event{Kind: Began, Step: s})
	return t, nil
}

// over says why no other step is to begin; empty when one is.
func (r *run) over(ctx context.Context, s plan.Step) string {
	limits, next := r.o.Limits, r.claimed
	next.add(s)
	switch {
	case ctx.Err() != nil:
		return interrupted
	case limits.Bytes > 0 && next.BytesHere > limits.Bytes && s.Kind == plan.Move:
		return fmt.Sprintf("the limit of %d bytes is reached", limits.Bytes)
	case limits.Moves > 0 && next.MovesHere > limits.Moves && s.Kind == plan.Move:
		return fmt.Sprintf("the limit of %d moves is reached", limits.Moves)
	case limits.Time > 0 && r.o.Clock.Now().Sub(r.result.Began) >= limits.Time:
		return fmt.Sprintf("the limit of %s is reached", limits.Time)
	}
	return ""
}

// add counts a step as done by this run.
func (p *Progress) add(s plan.Step) {
	p.StepsHere++
	if s.Kind == plan.Move {
		p.MovesHere, p.BytesHere = p.MovesHere+1, p.BytesHere+s.Bytes
	}
}

// end writes down how a step ended.
func (r *run) end(out outcome) error {
	if out.err != nil {
		r.result.Failures++
		r.tell(Event{Kind: Failed, Step: out.step, Err: out.err})
		if err := r.write(Record{What: failed, Step: out.step.Number, Error: out.err.Error()}); err != nil {
			return err
		}
		return out.err
	}
	if err := r.write(Record{What: ended, Step: out.step.Number}); err != nil {
		return err
	}
	r.done[out.step.Number] = true
	r.here.add(out.step)
	r.tell(Event{Kind: Ended, Step: out.step})
	return nil
}
