package clock

import (
	"context"
	"time"
)

// SharedClock gives scripts access to the cluster's time. Its methods take the lock.
type SharedClock struct{ clock *Clock }

// Shared returns the clock for callers that do not hold the lock.
func (c *Clock) Shared() SharedClock { return SharedClock{c} }

// readDuration is the virtual time that one read of the clock takes, so that a loop that polls the time
// without sleeping terminates.
const readDuration = 10 * time.Microsecond

// Now returns the cluster's time. Each call advances virtual time by readDuration.
func (s SharedClock) Now() time.Time {
	s.clock.Lock()
	defer s.clock.Unlock()
	s.clock.Spend(readDuration)
	return s.clock.Now()
}

// Peek returns the cluster's time without advancing it.
func (s SharedClock) Peek() time.Time { return s.clock.NowUnlocked() }

// Sleep waits for d. Virtual time jumps.
func (s SharedClock) Sleep(ctx context.Context, d time.Duration) error {
	if !s.clock.realTime {
		s.clock.Lock()
		defer s.clock.Unlock()
		s.clock.Spend(d)
		return ctx.Err()
	}
	return Sleep(ctx, d)
}

// Sleep waits for d in real time, or for the end of ctx, whose error it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
