package script

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dop251/goja"
	"github.com/tidwall/btree"
)

// eventLoop holds the pending timers of setTimeout and similar functions. It has no goroutine: its
// timers run at the end of each program and during sleep(), on the shell's clock.
type eventLoop struct {
	queue       *btree.BTreeG[*timer] // nil before the first timer
	byID        map[int64]*timer
	lastID      int64
	running     bool // a timer's function is running
	duringSleep bool // while a program sleeps

	now         func() time.Time
	sleep       func(time.Duration) error // until the time is over, or the current call ends
	onTimerDone func(err error) error     // called with the error of a timer's function; nil for none
}

type timer struct {
	id       int64
	due      time.Time
	interval time.Duration // 0 for a single run
	f        goja.Callable
	args     []goja.Value
}

// isBefore orders timers by their due time, then by the order in which they were set.
func (t *timer) isBefore(o *timer) bool {
	if !t.due.Equal(o.due) {
		return t.due.Before(o.due)
	}
	return t.id < o.id
}

func (l *eventLoop) add(t *timer) {
	l.lastID++
	t.id = l.lastID
	if l.byID == nil {
		l.byID = make(map[int64]*timer)
		l.queue = btree.NewBTreeGOptions((*timer).isBefore, btree.Options{NoLocks: true})
	}
	l.byID[t.id] = t
	l.queue.Set(t)
}

func (l *eventLoop) remove(id int64) {
	if t := l.byID[id]; t != nil {
		delete(l.byID, id)
		l.queue.Delete(t)
	}
}

func (l *eventLoop) clear() {
	l.queue, l.byID = nil, nil
}

// next returns the timer with the earliest due time; nil when there is none.
func (l *eventLoop) next() *timer {
	if l.queue == nil {
		return nil
	}
	t, _ := l.queue.Min()
	return t
}

// runNext waits for the next timer and runs it.
func (l *eventLoop) runNext() error {
	t, _ := l.queue.PopMin()
	if wait := t.due.Sub(l.now()); wait > 0 {
		if err := l.sleep(wait); err != nil {
			l.queue.Set(t)
			return err
		}
	}
	if now := l.now(); t.interval > 0 {
		if t.due.Before(now) { // missed intervals are not repeated
			t.due = now
		}
		t.due = t.due.Add(t.interval)
		l.queue.Set(t)
	} else {
		delete(l.byID, t.id)
	}
	outer := l.running
	l.running = true
	defer func() { l.running = outer }()
	_, err := t.f(goja.Undefined(), t.args...)
	return l.onTimerDone(err)
}

// handleTimerError handles the error of a timer's function.
func (s *Engine) handleTimerError(err error) error {
	if err != nil && (!s.cfg.Interactive || !s.reportUncaught(err)) {
		return err
	}
	if s.cfg.Interactive && !s.loop.duringSleep {
		return s.reportRejections() // they do not belong to the running input
	}
	return nil
}

// sleep waits on the shell's clock.
func (s *Engine) sleep(d time.Duration) error {
	if err := s.Clock.Sleep(s.ctx, d); err != nil {
		return s.waitError(err)
	}
	return nil
}

// reportUncaught prints an exception that belongs to no input. It returns false for other errors, which
// the caller has to return.
func (s *Engine) reportUncaught(err error) bool {
	var script *Error
	if !errors.As(s.Errors.convertError(err), &script) {
		return false
	}
	s.Out.Warn("Uncaught " + script.Text())
	return true
}

// drain runs timers until none is left, or until done returns true.
func (l *eventLoop) drain(done func() bool) error {
	for l.next() != nil && !done() {
		if err := l.runNext(); err != nil {
			return err
		}
	}
	return nil
}

// runDue runs the timers that are due until a time, including those that become due meanwhile.
func (l *eventLoop) runDue(until time.Time) error {
	for t := l.next(); t != nil && !t.due.After(until); t = l.next() {
		if err := l.runNext(); err != nil {
			return err
		}
	}
	return nil
}

// Sleep waits. Timers run meanwhile, as in mongosh, but not during a sleep inside a timer: an interval
// whose function sleeps would never end.
func (s *Engine) Sleep(d time.Duration) {
	end := s.Clock.Now().Add(d)
	if !s.loop.running {
		s.loop.duringSleep = true
		err := s.loop.runDue(end)
		s.loop.duringSleep = false
		s.Check(err)
	}
	if rest := end.Sub(s.Clock.Now()); rest > 0 {
		s.Check(s.sleep(rest))
	}
}

// NextTimer returns the time until RunTimers has work; ok is false when no timer is set. An interactive
// shell may have timers left after an input.
func (s *Engine) NextTimer() (wait time.Duration, ok bool) {
	t := s.loop.next()
	if t == nil {
		return 0, false
	}
	return max(0, t.due.Sub(s.Clock.Now())), true
}

// RunTimers runs the timers that are due now, while an interactive shell waits for input. Exceptions
// are written to the error stream; the returned error is that of ctx or of quit().
func (s *Engine) RunTimers(ctx context.Context) error {
	_, err := s.RunProtected(ctx, func() (goja.Value, error) {
		if err := s.loop.runDue(s.Clock.Now()); err != nil {
			return nil, err
		}
		return nil, s.reportRejections()
	})
	return err
}

func (s *Engine) defineTimers() {
	for name, repeats := range map[string]bool{"setTimeout": false, "setInterval": true, "setImmediate": false} {
		s.DefineLazyGlobal(name, func() goja.Value {
			return s.NewFunction(name, func(c *Call) goja.Value { return c.SetTimer(name, repeats) })
		})
	}
	for _, name := range []string{"clearTimeout", "clearInterval", "clearImmediate"} {
		s.DefineLazyGlobal(name, func() goja.Value {
			return s.NewFunction(name, func(c *Call) goja.Value {
				if handle := c.Object(0); handle != nil {
					c.JS.loop.remove(handle.ToInteger())
				} else if c.Has(0) {
					c.JS.loop.remove(c.Arg(0).ToInteger())
				}
				return nil
			})
		})
	}
	s.DefineLazyGlobal("queueMicrotask", func() goja.Value {
		return s.NewFunction("queueMicrotask", func(c *Call) goja.Value {
			if _, ok := goja.AssertFunction(c.Arg(0)); !ok {
				c.JS.ThrowType("queueMicrotask takes a function")
			}
			promise, resolve, _ := c.JS.Runtime.NewPromise()
			Must(resolve(goja.Undefined()))
			done := c.JS.Runtime.ToValue(promise).(*goja.Object)
			then, _ := goja.AssertFunction(done.Get("then"))
			if _, err := then(done, c.Arg(0)); err != nil {
				c.JS.Rethrow(err)
			}
			return nil
		})
	})
}

// SetTimer implements setTimeout and similar functions: it sets a timer and returns its number.
func (c *Call) SetTimer(name string, repeats bool) goja.Value {
	f, ok := goja.AssertFunction(c.Arg(0))
	if !ok {
		c.JS.ThrowType("%s takes a function", name)
	}
	t := &timer{f: f}
	rest := 2
	var delay time.Duration
	if name == "setImmediate" {
		rest = 1
	} else if ms := c.Arg(1).ToFloat(); ms > 0 {
		delay = time.Duration(min(ms, 1<<31-1) * float64(time.Millisecond))
	}
	if repeats {
		delay = max(delay, time.Millisecond)
		t.interval = delay
	}
	t.due = c.JS.Clock.Now().Add(delay)
	if len(c.Args) > rest {
		t.args = slices.Clone(c.Args[rest:]) // the engine reuses the slice
	}
	c.JS.loop.add(t)
	return c.JS.Runtime.ToValue(t.id)
}

// Poll calls done at every interval on the shell's clock until it returns true. It reports whether that
// happened before the timeout.
func (s *Engine) Poll(timeout, interval time.Duration, done func() bool) bool {
	deadline := s.Clock.Now().Add(timeout)
	for !done() {
		if !s.Clock.Now().Before(deadline) {
			return false
		}
		s.Sleep(interval)
	}
	return true
}
