package clock

import (
	"context"
	"time"
)

// runEvents runs the events of a cluster as they fall due, until ctx ends: runDue runs those of now, and
// returns the time until the next one.
func (c *Clock) runEvents(ctx context.Context, runDue func() time.Duration) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(runDue())
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		case <-timer.C:
		}
	}
}

// runDue runs the events that are due on real time and returns the time until the next event.
func (c *Clock) runDue() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runUntil(time.Now(), func() {})
	c.OnEventsRun()
	c.endTurn()
	c.Wake()
	if due, ok := c.queue.NextDue(); ok {
		return time.Until(due)
	}
	return time.Hour
}

// pacedTime is virtual time that advances on its own. It is updated when the lock is taken and when an
// event falls due. In between nobody can read it, and nothing runs.
type pacedTime struct {
	speed        float64   // virtual time per real time; 0 if time does not advance on its own
	lastAdvanced time.Time // real time of the last update
	wake         time.Time // real time of the next check of the events
}

// minWait limits how often a very fast cluster wakes up.
const minWait = time.Millisecond

// catchUp brings virtual time up to date, and returns the time until the next event. Whoever waits
// still makes time jump.
func (c *Clock) catchUp() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceToPace()
	c.pacing.wake = c.nextWake()
	return max(time.Until(c.pacing.wake), minWait)
}

// maxCatchUp is the longest real time that virtual time catches up with after the process or the machine
// was suspended.
const maxCatchUp = time.Second

// advanceToPace advances virtual time by the elapsed real time times the speed. The run time of the
// events does not count. If they take longer than their share, the cluster is slower than its pace, but
// it does not fall ever further behind while it holds the lock.
func (c *Clock) advanceToPace() {
	p := &c.pacing
	if p.speed == 0 || c.closed {
		return
	}
	due := p.lastAdvanced
	if p.wake.After(due) {
		due = p.wake
	}
	now := time.Now()
	if now.Sub(due) > maxCatchUp {
		now = due.Add(maxCatchUp)
	}
	c.Spend(time.Duration(p.speed * float64(now.Sub(p.lastAdvanced))))
	p.lastAdvanced = time.Now()
}

// nextWake returns the real time at which the next event falls due.
func (c *Clock) nextWake() time.Time {
	wait := time.Hour
	if due, ok := c.queue.NextDue(); ok {
		if until := float64(due.Sub(c.queue.Now())) / c.pacing.speed; until < float64(wait) {
			wait = time.Duration(until)
		}
	}
	return c.pacing.lastAdvanced.Add(wait)
}

// wakePacer wakes the pacer when an event falls due before its next wake-up.
func (c *Clock) wakePacer() {
	if c.pacing.speed == 0 || !c.nextWake().Before(c.pacing.wake.Add(-minWait)) {
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}
