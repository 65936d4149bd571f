package pace

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Clock tells the time, and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or for the end of ctx, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// Gate lets moves begin. Several goroutines may use it at once.
type Gate struct {
	rules Rules
	clock Clock

	mu      sync.Mutex
	began   time.Time // the run
	claimed Done      // by moves that have begun
	done    Done
}

// Done is what a run has moved.
type Done struct {
	Moves int
	Bytes int64
}

// NewGate returns a Gate for one run, which begins now.
func NewGate(r Rules, c Clock) *Gate { return &Gate{rules: r, clock: c, began: c.Now()} }

// Enter waits until a move may begin, and counts it as begun. The error is an
// *OverError when none begins any more, and that of ctx when it ends first.
func (g *Gate) Enter(ctx context.Context, m Move) error {
	if g.rules.Pause > 0 && g.claimedSoFar().Moves > 0 {
		if err := g.clock.Sleep(ctx, g.rules.Pause); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.over(m); err != nil {
		return err
	}
	g.claimed.Moves++
	g.claimed.Bytes += m.Bytes
	return nil
}

// Leave tells that a move which entered has ended.
func (g *Gate) Leave(m Move, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.done.Moves++
		g.done.Bytes += m.Bytes
	}
}

// Done returns what was moved so far.
func (g *Gate) Done() Done {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}

func (g *Gate) claimedSoFar() Done {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.claimed
}

// over says why a move can't begin any more.
func (g *Gate) over(m Move) error {
	r := g.rules
	switch {
	case r.MaxMoves > 0 && g.claimed.Moves >= r.MaxMoves:
		return &OverError{fmt.Sprintf("the limit of %d moves is reached", r.MaxMoves)}
	case r.MaxBytes > 0 && g.claimed.Bytes+m.Bytes > r.MaxBytes:
		return &OverError{fmt.Sprintf("the limit of %d bytes is reached", r.MaxBytes)}
	case r.For > 0 && g.clock.Now().Sub(g.began) >= r.For:
		return &OverError{fmt.Sprintf("the limit of %s is reached", r.For)}
	}
	return nil
}
