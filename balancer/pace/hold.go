package pace

import (
	"context"

	"shardsh/balancer/mongoerr"
)

// Moment is what a Gate knows when it asks whether somebody holds the run.
type Moment struct {
	// Stopped says that the balancer, which was on, was found stopped during the run.
	Stopped bool
	// Idle says that nothing is under way.
	Idle bool
	// Refused says that a command was just refused as while the metadata change hands: what was
	// read before counts no more.
	Refused bool
}

// Holds tells a Gate where to read why nothing is to begin: a pause, a freeze. An empty text
// lets go on.
func Holds(read func(context.Context, Moment) (why string, err error)) Option {
	return func(g *Gate) { g.holds = read }
}

// holdAgain is how often is looked whether a run is still held.
const holdAgain = askAgain

// held finds out whether somebody holds the run.
func (g *Gate) held(ctx context.Context) (*obstacle, error) { return g.heldNow(ctx, false) }

func (g *Gate) heldNow(ctx context.Context, refused bool) (*obstacle, error) {
	if g.holds == nil {
		return nil, nil
	}
	g.mu.Lock()
	at := Moment{Stopped: g.stopped, Idle: g.inside == 0 && g.looking <= 1, Refused: refused}
	g.mu.Unlock()
	why, err := g.holds(ctx, at)
	switch {
	case err != nil:
		return noAnswer("can't read whether runs are paused", err)
	case why != "":
		return &obstacle{reason: Held, text: "paused: " + why, left: holdAgain}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = g.stopped && !at.Stopped
	return nil, nil
}

// Refused reports whether an error is not a failure of a move: it has begun while, as is found
// out at once, something holds the run, or a server had too much to do. Such a move left with
// ErrNotBegun enters again.
func (g *Gate) Refused(ctx context.Context, err error) bool {
	if g.overload(err) {
		return true
	}
	if !mongoerr.Is(err, mongoerr.ConflictingOperationInProgress) && !mongoerr.Is(err, mongoerr.ReshardCollectionAborted) {
		return false
	}
	o, asking := g.heldNow(ctx, true)
	return asking == nil && o != nil && o.reason == Held
}

// Await waits as long as somebody holds the run, for what is not a move. The error is an
// *OverError when that lasts longer than the run may.
func (g *Gate) Await(ctx context.Context) error {
	return g.wait(ctx, func() (*obstacle, bool, error) {
		o, err := g.held(ctx)
		if o == nil && err == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			o = g.overloaded()
		}
		return o, o == nil, err
	})
}

// Opens waits until a move may begin as far as time goes: nobody holds the run, the windows
// are open, and the pause after an earlier move is over. It lets nothing in.
func (g *Gate) Opens(ctx context.Context) error {
	return g.wait(ctx, func() (*obstacle, bool, error) {
		o, err := g.holdOrWindow(ctx)
		if o == nil && err == nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			o = g.pausing()
		}
		return o, o == nil, err
	})
}

// pausing is what is left of the pause after the last move. The lock is held.
func (g *Gate) pausing() *obstacle {
	if left := g.free.Sub(g.clock.Now()); left > 0 {
		return &obstacle{reason: Pausing, left: left, sure: true}
	}
	return nil
}

// Balancer notes whether the cluster's balancer is on, as a step that was let in has seen
// it. False says that somebody has stopped it since the run began, and wants nothing moved:
// the step has to enter again.
func (g *Gate) Balancer(on bool) (goesOn bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds == nil {
		return true
	}
	if on {
		g.wasOn, g.stopped = true, false
		return true
	}
	g.stopped = g.stopped || g.wasOn
	return !g.stopped
}
