package clock

import (
	"context"
	"time"
)

// pump runs the events of a cluster on real time as they fall due.
func (k *Clock) pump(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(k.runDue())
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-timer.C:
		}
	}
}

// runDue runs what is due on real time, and returns the time until the next event.
func (k *Clock) runDue() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runUntil(time.Now(), func() {})
	k.Ran()
	k.pass()
	k.Wake()
	if due, ok := k.queue.Next(); ok {
		return time.Until(due)
	}
	return time.Hour
}

// pacedTime is virtual time that goes by on its own. It is brought up to date when
// the lock is taken, and when an event falls due: in between it cannot be seen, and
// nothing runs.
type pacedTime struct {
	speed float64   // virtual time for real time; 0 = it does not go by
	upTo  time.Time // real time that has been gone by for
	wake  time.Time // real time of the next look at the events
}

// shortestWait keeps very fast clusters from doing nothing but to wake up.
const shortestWait = time.Millisecond

// keepPace runs the events of a cluster with a pace as they fall due, until ctx
// ends. Whoever waits still makes time jump.
func (k *Clock) keepPace(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(k.catchUp())
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-timer.C:
		}
	}
}

// catchUp brings virtual time up to date, and returns the time until the next event.
func (k *Clock) catchUp() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keepUp()
	k.pacing.wake = k.nextWake()
	return max(time.Until(k.pacing.wake), shortestWait)
}

// maxBehind is how much real time virtual time makes up for when its events could
// not run as they fell due: the process, or the machine, stood still.
const maxBehind = time.Second

// keepUp lets the virtual time go by that has passed. None goes by for what its
// events take themselves: where that is more than their share, the cluster is
// slower than its pace, and does not fall ever further behind with its lock held.
func (k *Clock) keepUp() {
	p := &k.pacing
	if p.speed == 0 || k.closed {
		return
	}
	due := p.upTo
	if p.wake.After(due) {
		due = p.wake
	}
	now := time.Now()
	if now.Sub(due) > maxBehind {
		now = due.Add(maxBehind)
	}
	k.Spend(time.Duration(p.speed * float64(now.Sub(p.upTo))))
	p.upTo = time.Now()
}

// nextWake returns the real time at which the next event falls due.
func (k *Clock) nextWake() time.Time {
	wait := time.Hour
	if due, ok := k.queue.Next(); ok {
		if until := float64(due.Sub(k.queue.Now())) / k.pacing.speed; until < float64(wait) {
			wait = time.Duration(until)
		}
	}
	return k.pacing.upTo.Add(wait)
}

// rouse wakes the pacing when an event falls due sooner than it thinks.
func (k *Clock) rouse() {
	if k.pacing.speed == 0 || !k.nextWake().Before(k.pacing.wake.Add(-shortestWait)) {
		return
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
}
