package clock

import "time"

// Drive is for tests in a synctest bubble: only Drive advances time. It runs the events due until now,
// which is wall clock time, and returns the time of the next event, if there is one. Waits release the
// lock as on real time. So one goroutine of the bubble determines the order of events. The caller does
// not hold the lock.
func (k *Clock) Drive(now time.Time) (next time.Time, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.driven = true
	k.runUntil(now, func() {})
	k.unlockedMillis.Store(k.Now().UnixMilli())
	k.OnEventsRun()
	k.endTurn()
	k.Wake()
	return k.queue.NextDue()
}

// IsDriven reports whether Drive runs the events. The lock is held.
func (k *Clock) IsDriven() bool { return k.driven }
