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
		s, err = r.cluster.Look(ctx, r.namespaces)
		if err == nil || !policy.FailureOf(err).Passes() || ctx.Err() != nil || r.hard.Err() != nil {
			return s, err
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return nil, err
		}
	}
	return s, err
}

// carry sends the commands of a step that has entered. After any error the cluster
// is asked whether the step is done all the same; if not, one that may pass has the
// rest sent again when the pace lets it, and what is too large is cut. The error is
// a *pace.OverError when that is never.
func (r *run) carry(ctx context.Context, s plan.Step, t todo, outcomes chan<- outcome) error {
	var waited, gone time.Duration
	for broken := 0; ; {
		err := r.try(s, t)
		var again *againError
		if !errors.As(err, &again) {
			r.o.Pace.Leave(paceOf(s), err)
			return err
		}
		t, err = again.todo, again.err
		left, pause := errors.Unwrap(err), time.Duration(0) // without the step's name
		switch {
		case waitsForDeletion(err) && waited < deletionWait:
			left, pause = pace.ErrNotBegun, deletionPause
			waited += pause
		case unanswered(err) && gone < patience: // the command may go on, and take longer than a connection lives
			left, pause = pace.ErrNotBegun, pauses()[min(broken, len(pauses())-1)]
			broken, gone = broken+1, gone+pause
		}
		r.o.Pace.Leave(paceOf(s), left)
		if ctx.Err() != nil {
			return err
		}
		switch {
		case unanswered(err): // of which it was told
		case pause > 0 && waited == pause: // the first time
			outcomes <- outcome{step: s, err: err, again: Deleting}
		case pause == 0:
			outcomes <- outcome{step: s, err: err, again: Again}
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return err
		}
		if entering := r.o.Pace.Enter(ctx, paceOf(s)); entering != nil {
			switch {
			case errors.As(entering, new(*pace.OverError)):
				return entering
			case errors.As(entering, new(*pace.AskError)):
				return &StepError{s, entering}
			}
			return err
		}
	}
}

// againError says that a step may be tried again, with what is left of it.
type againError struct {
	todo todo
	err  error
}

func (e *againError) Error() string { return e.err.Error() }

// try sends the commands of a step once, but for what is cut. The error is an
// *againError where the same may succeed later.
func (r *run) try(s plan.Step, t todo) error {
	for cuts := 0; ; cuts++ {
		sent, err := r.send(t.commands)
		if err == nil {
			return nil
		}
		err = &StepError{s, err}
		if r.hard.Err() != nil {
			return err
		}
		if mongoerr.Is(err, mongoerr.ChunkTooBig) && cuts < mostCuts {
			if cutErr := r.cut(s, sent); cutErr != nil {
				return errors.Join(err, cutErr)
			}
			err = nil
		}
		now, checkErr := r.recheck(s)
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
			err = &StepError{s, checkErr}
		case checkErr == nil:
			t = now
		}
		if policy.FailureOf(err).Passes() {
			return &againError{t, err}
		}
		return err
	}
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

// mostCuts is how often a range that is still too large is cut again.
const mostCuts = 3

// cut notes where what a command could not move at once is to be split: where the
// donor says. How much lies where, a plan could only guess.
func (r *run) cut(s plan.Step, c Command) error {
	points, err := r.cluster.Cuts(r.hard, c)
	if err != nil || len(points) == 0 {
		return err
	}
	if err := r.write(Record{What: cut, Step: s.Number, Points: points}); err != nil {
		return err
	}
	r.shared.Lock()
	defer r.shared.Unlock()
	r.cuts[s.Number] = append(slices.Clip(r.cuts[s.Number]), points...)
	return nil
}

// send returns the command that failed, too.
func (r *run) send(commands []Command) (Command, error) {
	for _, c := range commands {
		if err := r.cluster.Do(r.hard, c); err != nil {
			return c, err
		}
	}
	return Command{}, nil
}

// recheck asks what is left of a step that has begun.
func (r *run) recheck(s plan.Step) (todo, error) {
	look, err := r.cluster.Look(r.hard, r.namespaces)
	if err != nil {
		return todo{}, err
	}
	return r.ground(look).check(r.hard, s)
}
