package pace

import (
	"context"

	"shardsh/balancer/mongoerr"
)

// HoldInput is the input for the check whether the run is held.
type HoldInput struct {
	// BalancerStopped says that the balancer was on and was found stopped during the run.
	BalancerStopped bool
	// Idle says that nothing is running.
	Idle bool
	// CommandRefused says that a command was just refused as during a change of the feature compatibility
	// version that moves metadata, so that earlier reads are outdated.
	CommandRefused bool
}

// WithHold sets the function that reads why no move may begin, such as a pause or a quiesce. An empty
// text means that the run is not held.
func WithHold(read func(context.Context, HoldInput) (why string, err error)) Option {
	return func(g *Gate) { g.readHold = read }
}

// holdPollInterval is the interval at which a hold is read again.
const holdPollInterval = retryInterval

// readHoldObstacle checks whether the run is held.
func (g *Gate) readHoldObstacle(ctx context.Context) (*obstacle, error) {
	return g.readHoldObstacleNow(ctx, false)
}

func (g *Gate) readHoldObstacleNow(ctx context.Context, refused bool) (*obstacle, error) {
	if g.readHold == nil {
		return nil, nil
	}
	g.mu.Lock()
	at := HoldInput{BalancerStopped: g.balancerStopped, Idle: g.admittedSteps == 0 && g.checkingSteps <= 1,
		CommandRefused: refused}
	g.mu.Unlock()
	why, err := g.readHold(ctx, at)
	switch {
	case err != nil:
		return noAnswerObstacle("can't read whether runs are paused", err)
	case why != "":
		return &obstacle{reason: WaitPaused, text: "paused: " + why, left: holdPollInterval}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.balancerStopped = g.balancerStopped && !at.BalancerStopped
	return nil, nil
}

// MustReenter reports whether an error is not a failure of the move, because the run is held, which is
// checked immediately, or because a server was overloaded. The caller leaves with ErrNotBegun and
// enters again.
func (g *Gate) MustReenter(ctx context.Context, err error) bool {
	if g.noteOverload(err) {
		return true
	}
	if !mongoerr.Is(err, mongoerr.ConflictingOperationInProgress) && !mongoerr.Is(err, mongoerr.ReshardCollectionAborted) {
		return false
	}
	o, asking := g.readHoldObstacleNow(ctx, true)
	return asking == nil && o != nil && o.reason == WaitPaused
}

// AwaitUnheld waits as long as the run is held, for operations that are not moves. The error is an
// *RunOverError if the hold lasts longer than the run may.
func (g *Gate) AwaitUnheld(ctx context.Context) error {
	return g.wait(ctx, func() (*obstacle, bool, error) {
		o, err := g.readHoldObstacle(ctx)
		if o == nil && err == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			o = g.overloadObstacle()
		}
		return o, o == nil, err
	})
}

// AwaitOpen waits until the run is not held, the windows are open, and the pause after an earlier move
// is over. It admits no move.
func (g *Gate) AwaitOpen(ctx context.Context) error {
	return g.wait(ctx, func() (*obstacle, bool, error) {
		o, err := g.readHoldOrWindow(ctx)
		if o == nil && err == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			o = g.betweenMovesObstacle()
		}
		return o, o == nil, err
	})
}

// betweenMovesObstacle returns the rest of the pause after the last move. The lock is held.
func (g *Gate) betweenMovesObstacle() *obstacle {
	if left := g.pauseEnds.Sub(g.clock.Now()); left > 0 {
		return &obstacle{reason: WaitBetweenMoves, left: left, leftIsMinimum: true}
	}
	return nil
}

// NoteBalancer records whether the cluster's balancer is on, as read by an admitted step. It returns
// false if the balancer was stopped since the run began. Then nothing may be moved, and the step has to
// enter again.
func (g *Gate) NoteBalancer(on bool) (mayContinue bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.readHold == nil {
		return true
	}
	if on {
		g.balancerWasOn, g.balancerStopped = true, false
		return true
	}
	g.balancerStopped = g.balancerStopped || g.balancerWasOn
	return !g.balancerStopped
}
