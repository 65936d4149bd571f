package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
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

// carry sends the commands of a step. After any error the cluster is asked
// whether the step is done all the same; if not, one that may pass has the rest
// sent again, and what is too large is cut.
func (r *run) carry(ctx context.Context, s plan.Step, t todo, outcomes chan<- outcome) error {
	var cuts int
	var again retries
	for {
		sent, err := r.send(t.commands)
		if err == nil {
			return nil
		}
		err = &StepError{s, err}
		if r.hard.Err() != nil {
			return err
		}
		if mongoerr.Is(err, mongoerr.ChunkTooBig) && cuts < mostCuts {
			cuts++
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
		case checkErr == nil && err == nil:
			t = now
			continue
		case err == nil:
			return &StepError{s, checkErr}
		case checkErr == nil:
			t = now
		}
		pause, more := again.next(err)
		if !more || ctx.Err() != nil {
			return err
		}
		switch again.waited {
		case 0:
			outcomes <- outcome{step: s, err: err, again: Again}
		case deletionPause: // the first time
			outcomes <- outcome{step: s, err: err, again: Deleting}
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// retries are how often a step was tried again.
type retries struct {
	passing int
	waited  time.Duration // for range deletions
}

// A range that comes back to a shard has to wait until that has deleted what it
// gave away: 15 minutes after the migration, unless set otherwise.
const (
	deletionPause = 30 * time.Second
	deletionWait  = 2 * time.Hour
)

// next returns how long to wait before the next try; false for never.
func (t *retries) next(err error) (time.Duration, bool) {
	switch {
	case !policy.FailureOf(err).Passes():
		return 0, false
	case waitsForDeletion(err):
		t.waited += deletionPause
		return deletionPause, t.waited <= deletionWait
	case t.passing == len(pauses()):
		return 0, false
	}
	t.passing++
	return pauses()[t.passing-1], true
}

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
