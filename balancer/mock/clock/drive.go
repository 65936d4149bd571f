package clock

import "time"

// Drive has somebody else run the events, who calls it with the time on the wall: waits give the
// lock away as on real time, and nothing but Drive lets time pass. It runs what is due until now
// and returns when the next event is due, if there is one. So a program with one source of order
// (a bubble of package testing/synctest) decides what happens before what. The caller does not
// hold the lock.
func (k *Clock) Drive(now time.Time) (next time.Time, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.driven = true
	k.runUntil(now, func() {})
	k.left.Store(k.Now().UnixMilli())
	k.Ran()
	k.pass()
	k.Wake()
	return k.queue.Next()
}

// Driven reports whether somebody else runs the events. The lock is held.
func (k *Clock) Driven() bool { return k.driven }
