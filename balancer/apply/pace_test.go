package apply_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

var busy = mongoerr.New(mongoerr.ConflictingOperationInProgress, "a shard is busy")

// What fails in passing is tried again, after longer and longer waits, up to ten
// times in a row; then somebody is asked, and going on goes on.
func TestTriesAgainAndAsks(t *testing.T) {
	w, p := newBalancerConflictError(t)
	path := filepath.Join(t.TempDir(), "journal")
	j, err := apply.CreateJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	now := w.cluster.Clock().Now
	var at []time.Duration
	began, fail := now(), 3
	c := &hooked{Cluster: w.steps, before: func(n int, _ apply.Command) error {
		at = append(at, now().Sub(began).Round(time.Second))
		if n <= fail {
			return busy
		}
		return nil
	}}
	o := w.options()
	var told []apply.EventKind
	o.Journal, o.OnEvent = j, func(e apply.Event) { told = append(told, e.Kind) }
	r, err := apply.Run(t.Context(), c, p, o)
	if err != nil || !r.Finished || !slices.Contains(told, apply.Retrying) {
		t.Fatalf("%+v, %v, told %v", r, err, told)
	}
	if want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}; !slices.Equal(at[:4], want) {
		t.Errorf("tried at %v, want %v", at[:4], want)
	}

	w, p = newBalancerConflictError(t)
	fail, c.sent, c.Cluster, o = 1<<30, 0, w.steps, w.options()
	_, err = apply.Run(t.Context(), c, p, o)
	if !errors.As(err, new(*pace.OperatorNeededError)) || !errors.Is(err, busy) || c.sent != 10 ||
		!strings.Contains(err.Error(), "stopped after 10 failures in a row, the last one: a shard is busy.") {
		t.Errorf("after %d tries: %v", c.sent, err)
	}
}

// A server with too much to do is waited for: more refusals than a run may have failures.
func TestWaitsForOverload(t *testing.T) {
	w, p := newBalancerConflictError(t)
	c := &hooked{Cluster: w.steps, before: func(n int, _ apply.Command) error {
		if n <= 30 {
			return mongoerr.New(mongoerr.IngressRequestRateLimitExceeded, "slow down")
		}
		return nil
	}}
	o := w.options()
	var told []apply.EventKind
	o.OnEvent = func(e apply.Event) { told = append(told, e.Kind) }
	r, err := apply.Run(t.Context(), c, p, o)
	if err != nil || !r.Finished || slices.Contains(told, apply.Retrying) || c.sent <= 30 {
		t.Errorf("%+v after %d commands, %v, told %v", r, c.sent, err, told)
	}
}

// What would fail the same way again is not tried again.
func TestAsksAtOnce(t *testing.T) {
	for _, code := range []mongoerr.Code{mongoerr.Unauthorized, mongoerr.IndexNotFound, mongoerr.DuplicateKey} {
		w, p := newBalancerConflictError(t)
		c := &hooked{Cluster: w.steps, before: func(int, apply.Command) error { return mongoerr.New(code, "no") }}
		if _, err := apply.Run(t.Context(), c, p, w.options()); !mongoerr.Is(err, code) || c.sent != 1 {
			t.Errorf("%s: sent %d times, %v", code.Name(), c.sent, err)
		}
	}
}

// Nothing begins outside of the window, what failed neither.
func TestWindow(t *testing.T) {
	w, p := newBalancerConflictError(t) // at noon
	window, err := pace.ParseWindow("22:00-22:01", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	var begun []string
	clock := w.cluster.Clock()
	c := &hooked{Cluster: w.steps, before: func(n int, _ apply.Command) error {
		begun = append(begun, clock.Now().UTC().Format("02 15:04"))
		if n == 1 {
			return errors.Join(busy, clock.Sleep(t.Context(), 5*time.Minute)) // by when it is shut
		}
		return nil
	}}
	o := w.options()
	o.Gate = w.pace(pace.Rules{Window: window, MaxMoves: 1})
	r, err := apply.Run(t.Context(), c, p, o)
	if err != nil || r.Stopped != "the limit of 1 move is reached" || r.Progress.MovesThisRun != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if want := []string{"02 22:00", "03 22:00"}; !slices.Equal(begun, want) {
		t.Errorf("begun at %v, want %v", begun, want)
	}
}

// Who waits for a window can be stopped, and hears at once of steps that end
// meanwhile.
func TestWaitsBesideSteps(t *testing.T) {
	w, p := newBalancerConflictError(t)
	moves := slices.DeleteFunc(slices.Clone(p.Steps), func(s plan.Step) bool { return s.Kind != plan.Move })
	if len(moves) < 2 {
		t.Fatal("the plan has too few moves")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := w.options()
	o.Parallel, o.Gate = 2, pace.NewGate(pace.Rules{PauseBetween: time.Hour}, stuck{w.cluster.Clock()})
	var told []apply.EventKind
	o.OnEvent = func(e apply.Event) {
		told = append(told, e.Kind)
		if e.Kind == apply.Ended { // the second one waits for its pause, which has no end
			cancel()
		}
	}
	r, err := apply.Run(ctx, w.steps, p, o)
	if err != nil || r.Stopped != "interrupted" || r.Progress.StepsThisRun != 1 || slices.Contains(told, apply.WaitingToStop) {
		t.Errorf("%+v, %v, told %v", r, err, told)
	}
}

// stuck is a clock whose sleeps only end with their context.
type stuck struct{ apply.Clock }

func (stuck) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}
