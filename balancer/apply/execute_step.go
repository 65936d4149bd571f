package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// pauses are how long to wait before what failed in passing is tried again.
func pauses() []time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second}
}

// look reads the cluster, more than once where the way there fails.
func (r *run) look(ctx context.Context) (s *catalog.Snapshot, err error) {
	for _, pause := range append(pauses(), 0) {
		s, err = r.cluster.Snapshot(ctx, r.namespaces)
		if err == nil || !policy.FailureOf(err).IsTransient() || ctx.Err() != nil || r.hard.Err() != nil {
			return s, err
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return nil, err
		}
	}
	return s, err
}

// stepRun is a step under way. What it moves is let in and counted one migration after
// another: how many there are, only the donor knows.
type stepRun struct {
	*run
	step    plan.Step
	in      pace.Move // what was let in
	entered bool
}

// carry sends the commands of a step that has entered. After any error the cluster
// is asked whether the step is done all the same; if not, one that may pass has the
// rest sent again when the pace lets it, and what is too large is cut. The error is
// a *pace.OverError when that is never.
func (r *run) carry(ctx context.Context, s plan.Step, t remainder, outcomes chan<- outcome) error {
	k := &stepRun{run: r, step: s, in: r.paceOf(s), entered: true}
	var waited, gone time.Duration
	for broken := 0; ; {
		err := k.try(ctx, t)
		var again *retryError
		if !errors.As(err, &again) {
			k.leave(err)
			return err
		}
		t, err = again.todo, again.err
		left, pause := errors.Unwrap(err), time.Duration(0) // without the step's name
		refused := k.o.Pace.Refused(k.hard, err)
		switch {
		case refused: // it waits, and says why
			left = pace.ErrNotBegun
		case waitsForDeletion(err) && waited < deletionWait:
			left, pause = pace.ErrNotBegun, deletionPause
			waited += pause
		case unanswered(err) && gone < patience: // the command may go on, and take longer than a connection lives
			left, pause = pace.ErrNotBegun, pauses()[min(broken, len(pauses())-1)]
			broken, gone = broken+1, gone+pause
		}
		k.leave(left)
		if ctx.Err() != nil {
			return err
		}
		switch {
		case unanswered(err), refused: // of which it was told
		case pause > 0 && waited == pause: // the first time
			outcomes <- outcome{step: s, err: err, again: Deleting}
		case pause == 0:
			outcomes <- outcome{step: s, err: err, again: Again}
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return err
		}
		if entering := k.enter(ctx); entering != nil {
			if ctx.Err() != nil {
				return err
			}
			return entering
		}
	}
}

// enter waits until the next migration, or the same one again, may begin.
func (k *stepRun) enter(ctx context.Context) error {
	err := k.o.Pace.Enter(ctx, k.in)
	k.entered = err == nil
	switch {
	case err == nil, errors.As(err, new(*pace.OverError)):
		return err
	case ctx.Err() != nil:
		return &pace.OverError{Why: interrupted}
	}
	return &StepError{k.step, err}
}

// enterFor enters for a command that has not entered yet: for what moves, as a move.
func (k *stepRun) enterFor(ctx context.Context, c Command) error {
	moves := c.Kind == plan.Move
	if k.entered && (!moves || !k.in.Stays) {
		return nil
	}
	k.leave(nil)
	k.in.Stays = !moves
	return k.enter(ctx)
}

func (k *stepRun) leave(err error) {
	if k.entered {
		k.entered = false
		k.o.Pace.Leave(k.in, err)
	}
}

// retryError says that a step may be tried again, with what is left of it.
type retryError struct {
	todo remainder
	err  error
}

func (e *retryError) Error() string { return e.err.Error() }

// try sends the commands of a step once, but for what is cut. The error is an
// *retryError where the same may succeed later.
func (k *stepRun) try(ctx context.Context, t remainder) error {
	for cuts := 0; ; cuts++ {
		if asks := t.commands[0]; asks.Kind == plan.Split && asks.Open {
			switch _, err := k.cut(k.step, asks); {
			case passes(err):
				return &retryError{t, &StepError{k.step, err}}
			case err != nil:
				return &StepError{k.step, err}
			}
			var err error
			if t, err = k.recheck(k.step); err != nil || len(t.commands) == 0 {
				return err
			}
		}
		sent, more, err := k.send(ctx, t.commands)
		if over := new(stopError); errors.As(err, &over) {
			return over.error
		}
		if err == nil && !more && (k.step.Within != nil || !k.wasCut()) {
			return nil
		}
		if err != nil {
			err = &StepError{k.step, err}
			if k.hard.Err() != nil {
				return err
			}
		}
		if mongoerr.Is(err, mongoerr.ChunkTooBig) && !sent.Force {
			points, cutErr := k.cut(k.step, sent)
			switch {
			case passes(cutErr):
				err = &StepError{k.step, cutErr}
			case cutErr != nil:
				return errors.Join(err, cutErr)
			case len(points) == 0:
				if err := k.force(sent); err != nil {
					return err
				}
				err = nil
			case cuts < maxCuts:
				err = nil
			}
		}
		now, checkErr := k.recheck(k.step)
		if err != nil && checkErr == nil && sent.Kind == plan.Move && !has(now.commands, sent) { // it is done all the same
			if stop := k.moved(sent); stop != nil {
				return stop
			}
		}
		switch {
		case checkErr == nil && len(now.commands) == 0:
			return nil
		case errors.As(checkErr, new(*ChangedError)):
			return checkErr
		case unanswered(checkErr):
			return errors.Join(err, checkErr)
		case checkErr == nil && err == nil:
			t = now
			continue
		case err == nil:
			err = &StepError{k.step, checkErr}
		case checkErr == nil:
			t = now
		}
		if policy.FailureOf(err).IsTransient() {
			return &retryError{t, err}
		}
		return err
	}
}

func passes(err error) bool { return err != nil && policy.FailureOf(err).IsTransient() }

// wasCut reports whether the donor has, or may have, cut what the step is about.
func (k *stepRun) wasCut() bool {
	if k.halves { // a run that was killed may have
		return true
	}
	k.shared.Lock()
	defer k.shared.Unlock()
	return len(k.cuts[k.step.Number]) > 0
}

// has reports whether a move of the same range is still to be made.
func has(commands []Command, c Command) bool {
	return slices.ContainsFunc(commands, func(o Command) bool { return o.Kind == c.Kind && o.Min.Equal(c.Min) })
}

// stopError is an error that ends a step without a look at what became of it.
type stopError struct{ error }

// send sends commands, up to the first that fails, and returns that. More says that a
// donor has kept a part of what it was to give.
func (k *stepRun) send(ctx context.Context, commands []Command) (failed Command, more bool, err error) {
	for _, c := range commands {
		if err := k.enterFor(ctx, c); err != nil {
			return c, false, &stopError{err}
		}
		if err := k.cluster.Do(k.hard, c); err != nil {
			return c, false, err
		}
		if c.Kind != plan.Move {
			continue
		}
		is := k.count(c)
		if k.step.Within == nil && c.Open && !is.Max.Equal(c.Max) {
			more = true
		}
		if err := k.notMore(k.step); err != nil {
			return c, false, &stopError{err}
		}
	}
	return Command{}, more, nil
}

// moved counts a move whose command failed and that is done all the same.
func (k *stepRun) moved(c Command) error {
	k.count(c)
	return k.notMore(k.step)
}

// A range that comes back to a shard has to wait until that has deleted what it
// gave away: 15 minutes after the migration, unless set otherwise.
const (
	deletionPause = 30 * time.Second
	deletionWait  = 2 * time.Hour
)

// waitsForDeletion reports whether the recipient has data of the range that it
// gave away and has not deleted yet. The code is that of many errors.
func waitsForDeletion(err error) bool {
	return strings.Contains(err.Error(), "overlapping range deletion") ||
		mongoerr.Is(err, mongoerr.ChunkRangeCleanupPending)
}

// recheck asks what is left of a step that has begun.
func (r *run) recheck(s plan.Step) (remainder, error) {
	look, err := r.cluster.Snapshot(r.hard, r.namespaces)
	if err != nil {
		return remainder{}, err
	}
	r.o.Pace.Balancer(balancerOn(look))
	return r.ground(look).check(r.hard, s)
}
