package pace

import (
	"context"

	"shardsh/balancer/mongoerr"
)

// HoldState is what a Gate knows when it asks whether somebody holds the run.
type HoldState struct {
	// Stopped says that the balancer, which was on, was found stopped during the run.
	Stopped bool
	// Idle says that nothing is under way.
	Idle bool
	// Refused says that a command was just refused as during a change of the metadata's owner: what was
	// read before is outdated.
	Refused bool
}

// WithHold sets the function that reads why no move may begin: a pause, a freeze. An empty text
// means that there is no hold.
func WithHold(read func(context.Context, HoldState) (why string, err error)) Option {
	return func(g *Gate) { g.readHold = read }
}

// holdPollInterval is how often a hold is read again.
const holdPollInterval = retryInterval

// readHoldObstacle finds out whether somebody holds the run.
func (g *Gate) readHoldObstacle(ctx context.Context) (*obstacle, error) {
	return g.readHoldObstacleNow(ctx, false)
}

func (g *Gate) readHoldObstacleNow(ctx context.Context, refused bool) (*obstacle, error) {
	if g.readHold == nil {
		return nil, nil
	}
	g.mu.Lock()
	at := HoldState{Stopped: g.balancerStopped, Idle: g.entered == 0 && g.looking <= 1, Refused: refused}
	g.mu.Unlock()
	why, err := g.readHold(ctx, at)
	switch {
	case err != nil:
		return noAnswerObstacle("can't read whether runs are paused", err)
	case why != "":
		return &obstacle{reason: WaitHold, text: "paused: " + why, left: holdPollInterval}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.balancerStopped = g.balancerStopped && !at.Stopped
	return nil, nil
}

// WasRefused reports whether an error is not a failure of a move: it has begun while, as is found
// out at once, something holds the run, or a server had too much to do. Such a move left with
// ErrNotBegun enters again.
func (g *Gate) WasRefused(ctx context.Context, err error) bool {
	if g.noteOverload(err) {
		return true
	}
	if !mongoerr.Is(err, mongoerr.ConflictingOperationInProgress) && !mongoerr.Is(err, mongoerr.ReshardCollectionAborted) {
		return false
	}
	o, asking := g.readHoldObstacleNow(ctx, true)
	return asking == nil && o != nil && o.reason == WaitHold
}

// AwaitUnheld waits as long as somebody holds the run, for what is not a move. The error is an
// *OverError when that lasts longer than the run may.
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

// AwaitOpen waits until a move may begin as far as time goes: nobody holds the run, the windows
// are open, and the pause after an earlier move is over. It lets nothing in.
func (g *Gate) AwaitOpen(ctx context.Context) error {
	return g.wait(ctx, func() (*obstacle, bool, error) {
		o, err := g.readHoldOrWindow(ctx)
		if o == nil && err == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			o = g.pauseObstacle()
		}
		return o, o == nil, err
	})
}

// pauseObstacle returns the rest of the pause after the last move. The lock is held.
func (g *Gate) pauseObstacle() *obstacle {
	if left := g.pauseEnds.Sub(g.clock.Now()); left > 0 {
		return &obstacle{reason: WaitPause, left: left, isMinimum: true}
	}
	return nil
}

// NoteBalancer notes whether the cluster's balancer is on, as a step that was let in has seen
// it. False says that it was stopped since the run began, so that nothing may be moved:
// the step has to enter again.
func (g *Gate) NoteBalancer(on bool) (goesOn bool) {
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
