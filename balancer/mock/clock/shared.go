package clock

import (
	"context"
	"time"
)

// Shared gives scripts access to the cluster's time. Its methods take the lock.
type Shared struct{ clock *Clock }

// Shared returns the clock for callers that do not hold the lock.
func (k *Clock) Shared() Shared { return Shared{k} }

// lookDuration is the virtual time that one read of the clock takes, so that a loop that polls the time
// without sleeping terminates.
const lookDuration = 10 * time.Microsecond

// Now returns the cluster's time. Each call advances virtual time by lookDuration.
func (t Shared) Now() time.Time {
	t.clock.Lock()
	defer t.clock.Unlock()
	t.clock.Spend(lookDuration)
	return t.clock.Now()
}

// Peek returns the cluster's time without advancing it.
func (t Shared) Peek() time.Time { return t.clock.NowUnlocked() }

// Sleep waits for d. Virtual time jumps.
func (t Shared) Sleep(ctx context.Context, d time.Duration) error {
	if !t.clock.realTime {
		t.clock.Lock()
		defer t.clock.Unlock()
		t.clock.Spend(d)
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
