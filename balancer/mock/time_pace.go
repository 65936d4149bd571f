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
func (k *clock) keepPace(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		k.mu.Lock()
		k.keepUp()
		k.pacing.wake = k.nextWake()
		wait := max(time.Until(k.pacing.wake), shortestWait)
		k.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-timer.C:
		}
	}
}

// keepUp lets the virtual time go by that has passed.
func (k *clock) keepUp() {
	if k.pacing.speed == 0 || k.closed {
		return
	}
	now := time.Now()
	passed := now.Sub(k.pacing.upTo)
	k.pacing.upTo = now
	k.Spend(time.Duration(k.pacing.speed * float64(passed)))
}

// nextWake is the real time at which the next event falls due.
func (k *clock) nextWake() time.Time {
	wait := time.Hour
	if due, ok := k.queue.Next(); ok {
		if until := float64(due.Sub(k.queue.Now())) / k.pacing.speed; until < float64(wait) {
			wait = time.Duration(until)
		}
	}
	return k.pacing.upTo.Add(wait)
}

// rouse wakes the pacing when an event falls due sooner than it thinks.
func (k *clock) rouse() {
	if k.pacing.speed == 0 || !k.nextWake().Before(k.pacing.wake.Add(-shortestWait)) {
		return
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
}
