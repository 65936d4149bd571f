package action

import (
	"context"
	"errors"
	"sync/atomic"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// newHoldReader returns the function that tells the gate why no step may start now. While the run waits
// and nothing is running, the lease is marked as resting, so that a quiesce does not wait for the run.
func (c Cluster) newHoldReader(
	lease *atomic.Pointer[live.LeasedCluster], r *serialReporter,
) func(context.Context, pace.HoldInput) (string, error) {
	freeze := live.NewRunHoldChecker(c.Client, c.Clock.Now)
	looking := make(chan struct{}, 1) // full during a check
	resting := false
	return func(ctx context.Context, at pace.HoldInput) (string, error) {
		select {
		case looking <- struct{}{}:
		case <-ctx.Done(): // the check of another goroutine may take long
			return "", context.Cause(ctx)
		}
		defer func() { <-looking }()
		if at.CommandRefused {
			freeze.Invalidate()
		}
		is, err := freeze.Check(ctx, at.BalancerStopped)
		if err == nil && is.QuiesceAbandoned {
			is, err = c.restoreThenCheck(ctx, freeze, is, at, r)
		}
		l := lease.Load()
		if err != nil || l == nil {
			return is.Reason, err
		}
		switch {
		case is.Reason != "" && at.Idle && !resting:
			err = l.SetIdle(ctx, true)
			resting = err == nil
		case is.Reason == "" && resting:
			if err = l.SetIdle(ctx, false); err == nil { // a quiesce that began before this has seen the run rest
				resting = false
				is, err = freeze.Check(ctx, at.BalancerStopped)
			}
		}
		return is.Reason, err
	}
}

// restoreThenCheck restores what a quiesce whose process is gone has stopped, and checks again.
func (c Cluster) restoreThenCheck(
	ctx context.Context, freeze *live.RunHoldChecker, is live.RunHold, at pace.HoldInput, r *serialReporter,
) (live.RunHold, error) {
	note, err := c.restoreKilledQuiesce(ctx)
	if errors.As(err, new(*live.HeldError)) {
		return is, nil
	}
	if err != nil {
		return is, err
	}
	if note != "" {
		r.note(note)
	}
	return freeze.Check(ctx, at.BalancerStopped)
}

// addWhoEnabled adds to the error about balancing that was enabled during a run who enabled it, if the
// logs of the cluster tell.
func addWhoEnabled(ctx context.Context, lease *live.LeasedCluster, err error) {
	if e, ok := errors.AsType[*apply.BalancerConflictError](err); ok && e.Reenabled && len(e.Namespaces) > 0 {
		e.ReenabledBy = lease.ReadWhoEnabled(ctx, e.Namespaces[0])
	}
}
