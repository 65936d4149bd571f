// Package clock is a cluster's time, virtual or real, the events that wait for
// theirs, and the one lock under which they run. Package mock says who takes that
// lock, and what a wait does to it.
package clock

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/mongoerr"
)

// Clock is the cluster's time, the events that wait for theirs, and the lock
// under which they run.
type Clock struct {
	mu   sync.Mutex
	cond *sync.Cond

	realTime bool
	driven   bool // see Drive
	started  time.Time
	queue    *balancer.Queue
	// kick wakes whoever runs the events: one has come that may be the next.
	kick   chan struct{}
	pacing pacedTime
	closed bool
	// replacements counts how often the whole state was: what waits for something
	// of the previous state is interrupted.
	replacements atomic.Int64

	// OnUnlock is called with the time that the lock was held; may be nil. lockedAt is when it was
	// taken.
	OnUnlock func(time.Duration)
	lockedAt time.Time
	// unlockedMillis is the time at which the lock was given back last, in milliseconds.
	unlockedMillis atomic.Int64
	// BeforeTimePasses is called before time advances, to record the state
	// until then. It is usually nil.
	BeforeTimePasses func()
	// turns counts when time may go by, and others may have the lock: while it stays
	// the same, only its holder changes the cluster.
	turns uint64
	// OnEventsRun is called when an event has run, or some have: what they have changed
	// may have to be written. eachRun wants it called for each one.
	OnEventsRun     func()
	ReportEachEvent bool
	// panicLogger logs events that panic.
	panicLogger *slog.Logger
	// AnyNodeAway reports whether a node is down or cut off from another, or a thread waits at a fail point: what waits
	// for one may never end.
	AnyNodeAway func() bool
}

// New returns a clock that stands at start.
func New(start time.Time, realTime bool, logger *slog.Logger) *Clock {
	k := &Clock{
		panicLogger: logger, realTime: realTime,
		queue: balancer.NewQueue(start.Truncate(time.Millisecond)), kick: make(chan struct{}, 1),
		OnEventsRun: func() {}, AnyNodeAway: func() bool { return false }, turns: 1,
	}
	k.cond = sync.NewCond(&k.mu)
	k.started = k.Now()
	k.unlockedMillis.Store(k.started.UnixMilli())
	return k
}

var errNothingToWaitFor = errors.New("nothing is under way that could end this wait")

// Now returns the cluster's time.
func (k *Clock) Now() time.Time {
	if k.realTime {
		return time.Now()
	}
	return k.queue.Now()
}

// NowUnlocked returns the cluster's time as it was when the lock was given back last,
// for those that do without the lock.
func (k *Clock) NowUnlocked() time.Time {
	if k.realTime {
		return time.Now()
	}
	return time.UnixMilli(k.unlockedMillis.Load())
}

// After runs an event in d, with the lock held.
func (k *Clock) After(d time.Duration, run func()) *balancer.Event {
	event := k.queue.At(k.Now().Add(d), run)
	if k.realTime {
		select {
		case k.kick <- struct{}{}:
		default:
		}
	}
	return event
}

// Attempt runs a step of something that others wait for. Should it panic, failed
// ends that thing: the rest of the cluster goes on.
func (k *Clock) Attempt(what string, step func(), failed func(error)) {
	err := mongoerr.CatchPanic(k.panicLogger, what, func() error {
		step()
		return nil
	})
	if err != nil {
		failed(err)
	}
}

// runNext runs the next event. One that panics is logged and dropped: no waiter is
// known here (see Attempt).
func (k *Clock) runNext() {
	k.endTurn()
	k.Attempt("an event", func() { k.queue.RunNext() }, func(error) {})
}

// runUntil runs everything due until t, and tells each after every event.
func (k *Clock) runUntil(t time.Time, each func()) {
	for {
		due, ok := k.queue.NextDue()
		if !ok || due.After(t) {
			break
		}
		k.runNext()
		each()
	}
	k.endTurn()
	k.queue.Advance(t)
}

// endTurn announces that time is about to advance, and ends the turn.
func (k *Clock) endTurn() {
	if k.BeforeTimePasses != nil {
		k.BeforeTimePasses()
	}
	k.turns++
}

// Every calls f every d, even if it panics, as long as it
// returns true.
func (k *Clock) Every(d time.Duration, f func() (again bool)) {
	k.After(d, func() {
		again := true
		k.Attempt("what is done every "+d.String(), func() { again = f() }, func(error) {})
		if again {
			k.Every(d, f)
		}
	})
}

// advance runs everything due until t. Each event's changes are written on
// their own, so that a process that is killed leaves no burst half done.
func (k *Clock) advance(t time.Time) {
	each := func() {}
	if k.ReportEachEvent {
		each = k.OnEventsRun
	}
	k.runUntil(t, each)
}

// Spend lets a command take virtual time, so that scripts that poll without
// sleeping see time pass. It does nothing on real time.
func (k *Clock) Spend(d time.Duration) {
	if !k.realTime && !k.driven {
		k.advance(k.queue.Now().Add(d))
	}
}

// Lock takes the cluster's lock.
func (k *Clock) Lock() {
	k.mu.Lock()
	if k.OnUnlock != nil {
		k.lockedAt = time.Now()
	}
	k.advanceToPace()
}

// Unlock gives the lock back.
func (k *Clock) Unlock() {
	k.endTurn()
	k.wakePacer()
	k.unlockedMillis.Store(k.Now().UnixMilli())
	if k.OnUnlock != nil {
		k.OnUnlock(time.Since(k.lockedAt))
	}
	k.mu.Unlock()
}

// WithLock runs f with the lock held. No time passes, and OnUnlock does not hear how long it
// was held.
func (k *Clock) WithLock(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// Close ends all waits.
func (k *Clock) Close() {
	k.closed = true
	k.Wake()
}

// IsClosed reports whether close was called.
func (k *Clock) IsClosed() bool { return k.closed }

// Wake lets whoever waits on real time look again.
func (k *Clock) Wake() { k.cond.Broadcast() }

// Turn numbers the stretches in which no time goes by, and only the holder of the
// lock changes the cluster.
func (k *Clock) Turn() uint64 { return k.turns }

// Events returns what waits for its time.
func (k *Clock) Events() *balancer.Queue { return k.queue }

// BackgroundRunner returns what runs the events as they fall due, until its context ends: on
// real time, or at a pace. It is nil where only waits let time pass.
func (k *Clock) BackgroundRunner(pace float64) func(context.Context) {
	switch {
	case k.realTime:
		return func(ctx context.Context) { k.runEvents(ctx, k.runDue) }
	case pace > 0:
		k.pacing = pacedTime{speed: pace, lastAdvanced: time.Now()}
		return func(ctx context.Context) { k.runEvents(ctx, k.catchUp) }
	}
	return nil
}

// ResetTo lets virtual time begin then, without events.
func (k *Clock) ResetTo(t time.Time) {
	if !k.realTime {
		k.queue = balancer.NewQueue(t)
		k.started = k.Now()
	}
}

// Replace goes on at another clock's time: the state of the whole cluster is
// another one. Events are dropped, and whoever waits is interrupted.
func (k *Clock) Replace(by *Clock) {
	k.queue = balancer.NewQueue(by.queue.Now())
	k.replacements.Add(1)
}

// Replacements counts how often another state took the place of the whole one. It needs
// no lock.
func (k *Clock) Replacements() int64 { return k.replacements.Load() }

// WithoutLock gives the lock back while work runs, which must not touch the cluster,
// and takes it again.
func (k *Clock) WithoutLock(work func() error) error {
	k.Unlock()
	defer k.Lock() // a panic goes on to who holds it
	return work()
}

// Advance lets virtual time jump; everything due by then happens. On real time
// it is refused.
func (k *Clock) Advance(d time.Duration) error {
	switch {
	case k.realTime || k.driven:
		return mongoerr.New(mongoerr.IllegalOperation, "time is real here and can't jump: start with --mock-time virtual")
	case d < 0:
		return mongoerr.New(mongoerr.BadValue, "time does not go back: %v", d)
	}
	k.Spend(d)
	return nil
}

// IsRealTime reports whether time passes as on the wall.
func (k *Clock) IsRealTime() bool { return k.realTime }

// Started is when the cluster began, in its own time.
func (k *Clock) Started() time.Time { return k.started }
