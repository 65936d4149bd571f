package clock

import (
	"context"
	"time"
)

// runEvents runs the events of a cluster as they fall due, until ctx ends: runDue runs those of now, and
// returns the time until the next one.
func (k *Clock) runEvents(ctx context.Context, runDue func() time.Duration) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(runDue())
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-timer.C:
		}
	}
}

// runDue runs the events that are due on real time and returns the time until the next event.
func (k *Clock) runDue() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runUntil(time.Now(), func() {})
	k.OnEventsRun()
	k.endTurn()
	k.Wake()
	if due, ok := k.queue.NextDue(); ok {
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
func (k *Clock) catchUp() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.advanceToPace()
	k.pacing.wake = k.nextWake()
	return max(time.Until(k.pacing.wake), minWait)
}

// maxCatchUp is the longest real time that virtual time catches up with after the process or the machine
// was suspended.
const maxCatchUp = time.Second

// advanceToPace advances virtual time by the elapsed real time times the speed. The run time of the
// events does not count. If they take longer than their share, the cluster is slower than its pace, but
// it does not fall ever further behind while it holds the lock.
func (k *Clock) advanceToPace() {
	p := &k.pacing
	if p.speed == 0 || k.closed {
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
	k.Spend(time.Duration(p.speed * float64(now.Sub(p.lastAdvanced))))
	p.lastAdvanced = time.Now()
}

// nextWake returns the real time at which the next event falls due.
func (k *Clock) nextWake() time.Time {
	wait := time.Hour
	if due, ok := k.queue.NextDue(); ok {
		if until := float64(due.Sub(k.queue.Now())) / k.pacing.speed; until < float64(wait) {
			wait = time.Duration(until)
		}
	}
	return k.pacing.lastAdvanced.Add(wait)
}

// wakePacer wakes the pacer when an event falls due before its next wake-up.
func (k *Clock) wakePacer() {
	if k.pacing.speed == 0 || !k.nextWake().Before(k.pacing.wake.Add(-minWait)) {
		return
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
}
