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
	// WaitMayNeverEnd reports whether a node is down or partitioned, or a thread waits at a fail point. A
	// wait may then never end on its own.
	WaitMayNeverEnd func() bool
}

// New returns a clock whose time begins at start.
func New(start time.Time, realTime bool, logger *slog.Logger) *Clock {
	k := &Clock{
		panicLogger: logger, realTime: realTime,
		queue: balancer.NewQueue(start.Truncate(time.Millisecond)), kick: make(chan struct{}, 1),
		OnEventsRun: func() {}, WaitMayNeverEnd: func() bool { return false }, turns: 1,
	}
	k.cond = sync.NewCond(&k.mu)
	k.started = k.Now()
	k.unlockedMillis.Store(k.started.UnixMilli())
	return k
}

var errNothingToWaitFor = errors.New("no operation in progress can end this wait")

// Now returns the cluster's time.
func (c *Clock) Now() time.Time {
	if c.realTime {
		return time.Now()
	}
	return c.queue.Now()
}

// NowUnlocked returns the cluster's time as of the last unlock, for callers that do not take the lock.
func (c *Clock) NowUnlocked() time.Time {
	if c.realTime {
		return time.Now()
	}
	return time.UnixMilli(c.unlockedMillis.Load())
}

// After schedules run in d. run is called with the lock held.
func (c *Clock) After(d time.Duration, run func()) *balancer.Event {
	event := c.queue.At(c.Now().Add(d), run)
	if c.realTime {
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
	return event
}

// Attempt runs a step of an operation that others wait for. If step panics, failed ends the operation
// and the rest of the cluster continues.
func (c *Clock) Attempt(what string, step func(), failed func(error)) {
	err := mongoerr.CatchPanic(c.panicLogger, what, func() error {
		step()
		return nil
	})
	if err != nil {
		failed(err)
	}
}

// runNext runs the next event. A panic is logged and the event dropped: the clock knows no waiter of the
// event (see Attempt).
func (c *Clock) runNext() {
	c.endTurn()
	c.Attempt("an event", func() { c.queue.RunNext() }, func(error) {})
}

// runUntil runs all events due until t and calls each after every event.
func (c *Clock) runUntil(t time.Time, each func()) {
	for {
		due, ok := c.queue.NextDue()
		if !ok || due.After(t) {
			break
		}
		c.runNext()
		each()
	}
	c.endTurn()
	c.queue.Advance(t)
}

// endTurn announces that time is about to advance and ends the turn.
func (c *Clock) endTurn() {
	if c.BeforeTimePasses != nil {
		c.BeforeTimePasses()
	}
	c.turns++
}

// Every calls f every d, even if f panics, until f returns false.
func (c *Clock) Every(d time.Duration, f func() (again bool)) {
	c.After(d, func() {
		again := true
		c.Attempt("what is done every "+d.String(), func() { again = f() }, func(error) {})
		if again {
			c.Every(d, f)
		}
	})
}

// advance runs all events due until t. The changes of each event are persisted separately, so that
// killing the process never leaves half of an event's changes.
func (c *Clock) advance(t time.Time) {
	each := func() {}
	if c.ReportEachEvent {
		each = c.OnEventsRun
	}
	c.runUntil(t, each)
}

// Spend lets a command take virtual time, so that scripts that poll without sleeping see time advance.
// It does nothing on real time.
func (c *Clock) Spend(d time.Duration) {
	if !c.realTime && !c.driven {
		c.advance(c.queue.Now().Add(d))
	}
}

// Lock takes the cluster's lock.
func (c *Clock) Lock() {
	c.mu.Lock()
	if c.OnUnlock != nil {
		c.lockedAt = time.Now()
	}
	c.advanceToPace()
}

// Unlock releases the cluster's lock.
func (c *Clock) Unlock() {
	c.endTurn()
	c.wakePacer()
	c.unlockedMillis.Store(c.Now().UnixMilli())
	if c.OnUnlock != nil {
		c.OnUnlock(time.Since(c.lockedAt))
	}
	c.mu.Unlock()
}

// WithLock runs f with the lock held. No time passes, and OnUnlock is not called.
func (c *Clock) WithLock(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// Close ends all waits. The lock is held.
func (c *Clock) Close() {
	c.closed = true
	c.Wake()
}

// IsClosed reports whether Close was called.
func (c *Clock) IsClosed() bool { return c.closed }

// Wake lets all waiters on real time check their condition again.
func (c *Clock) Wake() { c.cond.Broadcast() }

// Turn returns the number of the current turn. During a turn no time passes and only the holder of the
// lock changes the cluster.
func (c *Clock) Turn() uint64 { return c.turns }

// Events returns the queue of events.
func (c *Clock) Events() *balancer.Queue { return c.queue }

// BackgroundRunner returns a function that runs events as they fall due until its context ends, on real
// time or at a pace. It returns nil if only waits let time pass.
func (c *Clock) BackgroundRunner(pace float64) func(context.Context) {
	switch {
	case c.realTime:
		return func(ctx context.Context) { c.runEvents(ctx, c.runDue) }
	case pace > 0:
		c.pacing = pacedTime{speed: pace, lastAdvanced: time.Now()}
		return func(ctx context.Context) { c.runEvents(ctx, c.catchUp) }
	}
	return nil
}

// ResetTo restarts virtual time at t, without events.
func (c *Clock) ResetTo(t time.Time) {
	if !c.realTime {
		c.queue = balancer.NewQueue(t)
		c.started = c.Now()
	}
}

// ReplaceWith continues at the time of another clock, because the whole cluster state was replaced. It drops
// the events and interrupts all waits.
func (c *Clock) ReplaceWith(by *Clock) {
	c.queue = balancer.NewQueue(by.queue.Now())
	c.replacements.Add(1)
}

// Replacements returns how often the whole state was replaced. It needs no lock.
func (c *Clock) Replacements() int64 { return c.replacements.Load() }

// WithoutLock releases the lock while work runs and takes it again afterwards. work must not touch the
// cluster.
func (c *Clock) WithoutLock(work func() error) error {
	c.Unlock()
	defer c.Lock() // after a panic, too: the caller unlocks it
	return work()
}

// Advance moves virtual time forward and runs all events due by then. It fails on real time.
func (c *Clock) Advance(d time.Duration) error {
	switch {
	case c.realTime || c.driven:
		return mongoerr.New(mongoerr.IllegalOperation,
			"the mock uses real time, which cannot be advanced: start it with --mock-time virtual")
	case d < 0:
		return mongoerr.New(mongoerr.BadValue, "time cannot go back: %v", d)
	}
	c.Spend(d)
	return nil
}

// IsRealTime reports whether the cluster uses real time.
func (c *Clock) IsRealTime() bool { return c.realTime }

// StartTime returns the time at which the cluster was created, in cluster time.
func (c *Clock) StartTime() time.Time { return c.started }
