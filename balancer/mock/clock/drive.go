package clock

import "time"

// Drive is for tests in a synctest bubble: only Drive advances time. It runs the events due until now,
// which is wall clock time, and returns the time of the next event, if there is one. Waits release the
// lock as on real time. So one goroutine of the bubble determines the order of events. The caller does
// not hold the lock.
func (c *Clock) Drive(now time.Time) (next time.Time, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driven = true
	c.runUntil(now, func() {})
	c.unlockedMillis.Store(c.Now().UnixMilli())
	c.OnEventsRun()
	c.endTurn()
	c.Wake()
	return c.queue.NextDue()
}

// IsDriven reports whether Drive runs the events. The lock is held.
func (c *Clock) IsDriven() bool { return c.driven }
