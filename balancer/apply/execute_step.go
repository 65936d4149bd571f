package apply

import (
	"context"
	"errors"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// retryPauses returns the waits between the retries of a transient failure.
func retryPauses() []time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second}
}

// readSnapshot reads the cluster, and retries transient failures.
func (r *run) readSnapshot(ctx context.Context) (s *catalog.Snapshot, err error) {
	for _, pause := range append(retryPauses(), 0) {
		s, err = r.cluster.Snapshot(ctx, r.namespaces)
		if err == nil || !policy.FailureClassOf(err).IsTransient() || ctx.Err() != nil || r.hardCtx.Err() != nil {
			return s, err
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return nil, err
		}
	}
	return s, err
}

// stepRun is a running step. Its migrations are admitted and counted one after another, because only
// the donor knows how many migrations a step needs.
type stepRun struct {
	*run
	step     plan.Step
	admitted pace.Move // the move that the gate has admitted
	entered  bool
}

// runStep sends the commands of a step that the gate has admitted. After an error, it reads from the
// cluster whether the step is done nevertheless. If it is not, the remaining commands are sent again
// after a transient error, when the gate permits it, and a range that is too large is split. The error
// is a *pace.RunOverError if the gate permits no more steps.
func (r *run) runStep(ctx context.Context, s plan.Step, t remainingWork, outcomes chan<- stepMessage) error {
	k := &stepRun{run: r, step: s, admitted: r.paceMove(s), entered: true}
	var waited, gone time.Duration
	for broken := 0; ; {
		err := k.tryOnce(ctx, t)
		var again *retryError
		if !errors.As(err, &again) {
			k.leavePace(err)
			return err
		}
		t, err = again.remaining, again.err
		left, pause := errors.Unwrap(err), time.Duration(0) // without the step's name
		refused := k.o.Gate.MustReenter(k.hardCtx, err)
		switch {
		case refused: // the step waits, and the gate reports the reason
			left = pace.ErrNotBegun
		case policy.IsOrphansError(err) && waited < maxDeletionWait:
			left, pause = pace.ErrNotBegun, deletionPollInterval
			waited += pause
		case isUnanswered(err) && gone < maxRouterWait: // the command may continue for longer than a connection lasts
			left, pause = pace.ErrNotBegun, retryPauses()[min(broken, len(retryPauses())-1)]
			broken, gone = broken+1, gone+pause
		}
		k.leavePace(left)
		if ctx.Err() != nil {
			return err
		}
		switch {
		case isUnanswered(err), refused: // the user was informed already
		case pause > 0 && waited == pause: // reported once
			outcomes <- stepMessage{step: s, err: err, retryKind: WaitingForDeletion}
		case pause == 0:
			outcomes <- stepMessage{step: s, err: err, retryKind: Retrying}
		}
		if r.o.Clock.Sleep(ctx, pause) != nil {
			return err
		}
		if entering := k.awaitPace(ctx); entering != nil {
			if ctx.Err() != nil {
				return err
			}
			return entering
		}
	}
}

// awaitPace waits until the next migration, or a retry of the same migration, may begin.
func (s *stepRun) awaitPace(ctx context.Context) error {
	err := s.o.Gate.Enter(ctx, s.admitted)
	s.entered = err == nil
	switch {
	case err == nil, errors.As(err, new(*pace.RunOverError)):
		return err
	case ctx.Err() != nil:
		return &pace.RunOverError{Why: pace.StoppedByInterrupt}
	}
	return &StepError{s.step, err}
}

// awaitPaceFor enters the gate for a command that has not entered yet: a command that moves data enters
// as a move.
func (s *stepRun) awaitPaceFor(ctx context.Context, c Command) error {
	moves := c.Kind == plan.Move
	if s.entered && (!moves || !s.admitted.MovesNothing) {
		return nil
	}
	s.leavePace(nil)
	s.admitted.MovesNothing = !moves
	return s.awaitPace(ctx)
}

func (s *stepRun) leavePace(err error) {
	if s.entered {
		s.entered = false
		s.o.Gate.Leave(s.admitted, err)
	}
}

// retryError says that a step may be retried, with its remaining commands.
type retryError struct {
	remaining remainingWork
	err       error
}

func (e *retryError) Error() string { return e.err.Error() }

// tryOnce sends the commands of a step once, with splits where a range is too large. The error is a
// *retryError if a retry may succeed.
func (s *stepRun) tryOnce(ctx context.Context, t remainingWork) error {
	for cuts := 0; ; cuts++ {
		if asks := t.commands[0]; asks.Kind == plan.Split && asks.DonorChoosesEnd {
			switch _, err := s.fetchSplitPoints(s.step, asks); {
			case isTransient(err):
				return &retryError{t, &StepError{s.step, err}}
			case err != nil:
				return &StepError{s.step, err}
			}
			var err error
			if t, err = s.recheckStep(s.step); err != nil || len(t.commands) == 0 {
				return err
			}
		}
		sent, more, err := s.send(ctx, t.commands)
		if over := new(stopError); errors.As(err, &over) {
			return over.error
		}
		if err == nil && !more && (s.step.KnownRange != nil || !s.mayHaveBeenCut()) {
			return nil
		}
		if err != nil {
			err = &StepError{s.step, err}
			if s.hardCtx.Err() != nil {
				return err
			}
		}
		if mongoerr.Is(err, mongoerr.ChunkTooBig) && !sent.Force {
			points, cutErr := s.fetchSplitPoints(s.step, sent)
			switch {
			case isTransient(cutErr):
				err = &StepError{s.step, cutErr}
			case cutErr != nil:
				return errors.Join(err, cutErr)
			case len(points) == 0: // a forced move that fails is checked and retried like another one
				err = s.forceMove(sent)
				if errors.As(err, new(*NeedsForceError)) || err != nil && s.hardCtx.Err() != nil {
					return err
				}
			case cuts < maxResplits:
				err = nil
			}
		}
		now, checkErr := s.recheckStep(s.step)
		if err != nil && checkErr == nil && sent.Kind == plan.Move &&
			!containsMove(now.commands, sent) { // the step is done nevertheless
			if stop := s.countFinishedMove(sent); stop != nil {
				return stop
			}
		}
		switch {
		case checkErr == nil && len(now.commands) == 0:
			return nil
		case errors.As(checkErr, new(*ChangedError)):
			return checkErr
		case isUnanswered(checkErr):
			return errors.Join(err, checkErr)
		case checkErr == nil && err == nil:
			t = now
			continue
		case err == nil:
			err = &StepError{s.step, checkErr}
		case checkErr == nil:
			t = now
		}
		if policy.FailureClassOf(err).IsTransient() {
			return &retryError{t, err}
		}
		return err
	}
}

func isTransient(err error) bool { return err != nil && policy.FailureClassOf(err).IsTransient() }

// mayHaveBeenCut reports whether the donor has split chunks of the step, or may have split them.
func (s *stepRun) mayHaveBeenCut() bool {
	if s.donorsOnlyHalve { // a run that was killed may have split them
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.splitPoints[s.step.Number]) > 0
}

// containsMove reports whether a move of the same range is still to be made.
func containsMove(commands []Command, c Command) bool {
	return slices.ContainsFunc(commands, func(o Command) bool { return o.Kind == c.Kind && o.Min.Equal(c.Min) })
}

// stopError is an error that ends a step without checking its outcome on the cluster.
type stopError struct{ error }

// send sends commands until one fails, and returns that command. more says that a donor has moved only
// a part of the range.
func (s *stepRun) send(ctx context.Context, commands []Command) (failed Command, more bool, err error) {
	for _, c := range commands {
		if err := s.awaitPaceFor(ctx, c); err != nil {
			return c, false, &stopError{err}
		}
		if err := s.cluster.Do(s.hardCtx, c); err != nil {
			return c, false, err
		}
		if c.Kind != plan.Move {
			continue
		}
		is := s.countMove(c)
		if s.step.KnownRange == nil && c.DonorChoosesEnd && !is.Max.Equal(c.Max) {
			more = true
		}
		if err := s.checkNotTooMuch(s.step); err != nil {
			return c, false, &stopError{err}
		}
	}
	return Command{}, more, nil
}

// countFinishedMove counts a move that is done although its command failed.
func (s *stepRun) countFinishedMove(c Command) error {
	s.countMove(c)
	return s.checkNotTooMuch(s.step)
}

// deletionPollInterval is the interval at which a pending range deletion is checked. A range that
// returns to a shard has to wait until the shard has deleted its orphaned documents, by default 15
// minutes after the migration. maxDeletionWait is the maximum wait for that.
const (
	deletionPollInterval = 30 * time.Second
	maxDeletionWait      = 2 * time.Hour
)

// recheckStep reads the remaining work of a step that has begun.
func (r *run) recheckStep(s plan.Step) (remainingWork, error) {
	look, err := r.cluster.Snapshot(r.hardCtx, r.namespaces)
	if err != nil {
		return remainingWork{}, err
	}
	r.o.Gate.NoteBalancer(isBalancerOn(look))
	return r.newClusterState(look).check(r.hardCtx, s)
}
