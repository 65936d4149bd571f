package clock

import "time"

// Drive lets the caller run the events, with the wall clock time: waits give the
// lock away as on real time, and nothing but Drive lets time pass. It runs what is due until now
// and returns when the next event is due, if there is one. So a program with one source of order
// (a bubble of package testing/synctest) decides what happens before what. The caller does not
// hold the lock.
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

// IsDriven reports whether events are run by Drive. The lock is held.
func (k *Clock) IsDriven() bool { return k.driven }
