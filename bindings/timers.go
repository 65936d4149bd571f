package bindings

import (
	"container/heap"
	"slices"
	"time"

	"github.com/dop251/goja"
)

// eventLoop holds what setTimeout and its kin left to run. It has no goroutine:
// drain runs it at the end of each program, on the shell's clock.
type eventLoop struct {
	queue timerQueue
	byID  map[int64]*timer
	last  int64
}

type timer struct {
	id       int64
	due      time.Time
	interval time.Duration // 0: once
	f        goja.Callable
	args     []goja.Value
	index    int
}

// timerQueue orders timers by when they are due, then by when they were set.
type timerQueue []*timer

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].id < q[j].id
}
func (q timerQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *timerQueue) Push(x any) {
	t := x.(*timer)
	t.index = len(*q)
	*q = append(*q, t)
}
func (q *timerQueue) Pop() any {
	old := *q
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	t.index = -1
	return t
}

func (l *eventLoop) add(t *timer) {
	l.last++
	t.id = l.last
	if l.byID == nil {
		l.byID = make(map[int64]*timer)
	}
	l.byID[t.id] = t
	heap.Push(&l.queue, t)
}

func (l *eventLoop) remove(id int64) {
	t := l.byID[id]
	if t == nil {
		return
	}
	delete(l.byID, id)
	if t.index >= 0 {
		heap.Remove(&l.queue, t.index)
	}
}

func (l *eventLoop) clear() {
	l.queue, l.byID = nil, nil
}

// drain runs timers until none is left. At a prompt it runs them until the
// input's own result is there, and those that are due by then: an interval that
// was left running must not keep the prompt away. The others go on with the next
// input.
func (s *Shell) drain(result goja.Value) error {
	var there time.Time // when the result was
	for len(s.loop.queue) > 0 {
		if s.cfg.Interactive && there.IsZero() && !pending(result) {
			there = s.clock.Now()
		}
		if !there.IsZero() && s.loop.queue[0].due.After(there) {
			return nil
		}
		t := heap.Pop(&s.loop.queue).(*timer)
		if wait := t.due.Sub(s.clock.Now()); wait > 0 {
			if err := s.clock.Sleep(s.ctx, wait); err != nil {
				return s.stopped(err)
			}
		}
		if t.interval > 0 {
			t.due = t.due.Add(t.interval)
			if now := s.clock.Now(); t.due.Before(now) { // what was missed is not made up for
				t.due = now.Add(t.interval)
			}
			heap.Push(&s.loop.queue, t)
		} else {
			delete(s.loop.byID, t.id)
		}
		if _, err := t.f(goja.Undefined(), t.args...); err != nil {
			if !s.cfg.Interactive || !s.tell(err) {
				return err
			}
		}
	}
	return nil
}

// tell writes an exception that belongs to no input; anything else is for the
// caller to pass on.
func (s *Shell) tell(err error) bool {
	var script *ScriptError
	if !asError(s.publicError(err), &script) {
		return false
	}
	s.warn("Uncaught " + script.Text())
	return true
}

func pending(v goja.Value) bool {
	promise, ok := asPromise(v)
	return ok && promise.State() == goja.PromiseStatePending
}

func (s *Shell) defineTimers() {
	for name, repeats := range map[string]bool{"setTimeout": false, "setInterval": true, "setImmediate": false} {
		s.lazy(name, func() goja.Value {
			return s.function(name, func(c *call) goja.Value { return c.setTimer(name, repeats) })
		})
	}
	for _, name := range []string{"clearTimeout", "clearInterval", "clearImmediate"} {
		s.lazy(name, func() goja.Value {
			return s.function(name, func(c *call) goja.Value {
				if handle := c.object(0); handle != nil {
					c.loop.remove(handle.ToInteger())
				} else if c.has(0) {
					c.loop.remove(c.arg(0).ToInteger())
				}
				return nil
			})
		})
	}
	s.lazy("queueMicrotask", func() goja.Value {
		return s.function("queueMicrotask", func(c *call) goja.Value {
			if _, ok := goja.AssertFunction(c.arg(0)); !ok {
				c.throwType("queueMicrotask takes a function")
			}
			promise, resolve, _ := c.rt.NewPromise()
			must(resolve(goja.Undefined()))
			done := c.rt.ToValue(promise).(*goja.Object)
			then, _ := goja.AssertFunction(done.Get("then"))
			if _, err := then(done, c.arg(0)); err != nil {
				c.rethrow(err)
			}
			return nil
		})
	})
}

func (c *call) setTimer(name string, repeats bool) goja.Value {
	f, ok := goja.AssertFunction(c.arg(0))
	if !ok {
		c.throwType("%s takes a function", name)
	}
	t := &timer{f: f}
	rest := 2
	var delay time.Duration
	if name == "setImmediate" {
		rest = 1
	} else if ms := c.arg(1).ToFloat(); ms > 0 {
		delay = time.Duration(min(ms, 1<<31-1) * float64(time.Millisecond))
	}
	if repeats {
		delay = max(delay, time.Millisecond)
		t.interval = delay
	}
	t.due = c.clock.Now().Add(delay)
	if len(c.args) > rest {
		t.args = slices.Clone(c.args[rest:]) // the engine uses the space again
	}
	c.loop.add(t)
	return c.rt.ToValue(t.id)
}
