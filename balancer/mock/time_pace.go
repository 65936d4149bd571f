package mock

import (
	"context"
	"time"
)

// pacing is virtual time that goes by on its own. It is brought up to date when
// somebody takes the lock, and when an event falls due: in between nobody could
// tell, and nothing runs.
type pacing struct {
	speed float64   // virtual time for real time; 0 = it does not go by
	upTo  time.Time // real time that has been gone by for
	wake  time.Time // real time of the next look at the events
}

// shortestWait keeps very fast clusters from doing nothing but to wake up.
const shortestWait = time.Millisecond

// keepPace runs the events of a cluster with a pace as they fall due, until ctx
// ends. Whoever waits still makes time jump.
func (c *Cluster) keepPace(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.mu.Lock()
		c.keepUp()
		c.pacing.wake = c.nextWake()
		wait := max(time.Until(c.pacing.wake), shortestWait)
		c.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		case <-timer.C:
		}
	}
}

// keepUp lets the virtual time go by that has passed.
func (c *Cluster) keepUp() {
	if c.pacing.speed == 0 || c.closed {
		return
	}
	now := time.Now()
	passed := now.Sub(c.pacing.upTo)
	c.pacing.upTo = now
	c.Spend(time.Duration(c.pacing.speed * float64(passed)))
}

// nextWake is the real time at which the next event falls due.
func (c *Cluster) nextWake() time.Time {
	wait := time.Hour
	if due, ok := c.queue.Next(); ok {
		if until := float64(due.Sub(c.queue.Now())) / c.pacing.speed; until < float64(wait) {
			wait = time.Duration(until)
		}
	}
	return c.pacing.upTo.Add(wait)
}

// rouse wakes the pacing when an event falls due sooner than it thinks.
func (c *Cluster) rouse() {
	if c.pacing.speed == 0 || !c.nextWake().Before(c.pacing.wake.Add(-shortestWait)) {
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}
