// Package clock implements a cluster's time (virtual or real), the queue of timed events, and the one
// lock under which the events run. Package mock documents who takes the lock and how a wait affects it.
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

// Clock is the cluster's time, the queue of its events, and the lock under which they run.
type Clock struct {
	mu   sync.Mutex
	cond *sync.Cond

	realTime bool
	driven   bool // see Drive
	started  time.Time
	queue    *balancer.Queue
	// kick wakes the goroutine that runs the events: a new event may be the next one.
	kick   chan struct{}
	pacing pacedTime
	closed bool
	// replacements counts how often the whole cluster state was replaced. A wait for part of the
	// previous state is interrupted.
	replacements atomic.Int64

	// OnUnlock is called with the duration for which the lock was held; it may be nil. lockedAt is the
	// time at which the lock was taken.
	OnUnlock func(time.Duration)
	lockedAt time.Time
	// unlockedMillis is the cluster's time of the last unlock, in milliseconds.
	unlockedMillis atomic.Int64
	// BeforeTimePasses is called before time advances, to record the current state. It is usually nil.
	BeforeTimePasses func()
	// turns increases whenever time may advance and others may take the lock. While it stays the same,
	// only the holder of the lock changes the cluster.
	turns uint64
	// OnEventsRun is called after one or more events have run, because their changes may have to be
	// persisted. With ReportEachEvent it is called after each event.
	OnEventsRun     func()
	ReportEachEvent bool
	// panicLogger logs events that panic.
	panicLogger *slog.Logger
	// AnyNodeAway reports whether a node is down or partitioned, or a thread waits at a fail point. A
	// wait may then never end on its own.
	AnyNodeAway func() bool
}

// New returns a clock whose time begins at start.
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

var errNothingToWaitFor = errors.New("no operation in progress can end this wait")

// Now returns the cluster's time.
func (k *Clock) Now() time.Time {
	if k.realTime {
		return time.Now()
	}
	return k.queue.Now()
}

// NowUnlocked returns the cluster's time as of the last unlock, for callers that do not take the lock.
func (k *Clock) NowUnlocked() time.Time {
	if k.realTime {
		return time.Now()
	}
	return time.UnixMilli(k.unlockedMillis.Load())
}

// After schedules run in d. run is called with the lock held.
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

// Attempt runs a step of an operation that others wait for. If step panics, failed ends the operation
// and the rest of the cluster continues.
func (k *Clock) Attempt(what string, step func(), failed func(error)) {
	err := mongoerr.CatchPanic(k.panicLogger, what, func() error {
		step()
		return nil
	})
	if err != nil {
		failed(err)
	}
}

// runNext runs the next event. A panic is logged and the event dropped: the clock knows no waiter of the
// event (see Attempt).
func (k *Clock) runNext() {
	k.endTurn()
	k.Attempt("an event", func() { k.queue.RunNext() }, func(error) {})
}

// runUntil runs all events due until t and calls each after every event.
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

// endTurn announces that time is about to advance and ends the turn.
func (k *Clock) endTurn() {
	if k.BeforeTimePasses != nil {
		k.BeforeTimePasses()
	}
	k.turns++
}

// Every calls f every d, even if f panics, until f returns false.
func (k *Clock) Every(d time.Duration, f func() (again bool)) {
	k.After(d, func() {
		again := true
		k.Attempt("what is done every "+d.String(), func() { again = f() }, func(error) {})
		if again {
			k.Every(d, f)
		}
	})
}

// advance runs all events due until t. The changes of each event are persisted separately, so that
// killing the process never leaves half of an event's changes.
func (k *Clock) advance(t time.Time) {
	each := func() {}
	if k.ReportEachEvent {
		each = k.OnEventsRun
	}
	k.runUntil(t, each)
}

// Spend lets a command take virtual time, so that scripts that poll without sleeping see time advance.
// It does nothing on real time.
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

// Unlock releases the cluster's lock.
func (k *Clock) Unlock() {
	k.endTurn()
	k.wakePacer()
	k.unlockedMillis.Store(k.Now().UnixMilli())
	if k.OnUnlock != nil {
		k.OnUnlock(time.Since(k.lockedAt))
	}
	k.mu.Unlock()
}

// WithLock runs f with the lock held. No time passes, and OnUnlock is not called.
func (k *Clock) WithLock(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// Close ends all waits. The lock is held.
func (k *Clock) Close() {
	k.closed = true
	k.Wake()
}

// IsClosed reports whether Close was called.
func (k *Clock) IsClosed() bool { return k.closed }

// Wake lets all waiters on real time check their condition again.
func (k *Clock) Wake() { k.cond.Broadcast() }

// Turn returns the number of the current turn. During a turn no time passes and only the holder of the
// lock changes the cluster.
func (k *Clock) Turn() uint64 { return k.turns }

// Events returns the queue of events.
func (k *Clock) Events() *balancer.Queue { return k.queue }

// BackgroundRunner returns a function that runs events as they fall due until its context ends, on real
// time or at a pace. It returns nil if only waits let time pass.
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

// ResetTo restarts virtual time at t, without events.
func (k *Clock) ResetTo(t time.Time) {
	if !k.realTime {
		k.queue = balancer.NewQueue(t)
		k.started = k.Now()
	}
}

// Replace continues at the time of another clock, because the whole cluster state was replaced. It drops
// the events and interrupts all waits.
func (k *Clock) Replace(by *Clock) {
	k.queue = balancer.NewQueue(by.queue.Now())
	k.replacements.Add(1)
}

// Replacements returns how often the whole state was replaced. It needs no lock.
func (k *Clock) Replacements() int64 { return k.replacements.Load() }

// WithoutLock releases the lock while work runs and takes it again afterwards. work must not touch the
// cluster.
func (k *Clock) WithoutLock(work func() error) error {
	k.Unlock()
	defer k.Lock() // after a panic, too: the caller unlocks it
	return work()
}

// Advance moves virtual time forward and runs all events due by then. It fails on real time.
func (k *Clock) Advance(d time.Duration) error {
	switch {
	case k.realTime || k.driven:
		return mongoerr.New(mongoerr.IllegalOperation,
			"the mock uses real time, which cannot be advanced: start it with --mock-time virtual")
	case d < 0:
		return mongoerr.New(mongoerr.BadValue, "time cannot go back: %v", d)
	}
	k.Spend(d)
	return nil
}

// IsRealTime reports whether the cluster uses real time.
func (k *Clock) IsRealTime() bool { return k.realTime }

// Started returns the time at which the cluster was created, in cluster time.
func (k *Clock) Started() time.Time { return k.started }
