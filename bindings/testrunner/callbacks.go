package testrunner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// callbacks runs functions of a test that are called from other goroutines: by a command of a script or
// an event of a migration. They run on the goroutine of the server while the test's goroutine waits for
// them. When the test times out, callbacks are closed first, so that the two goroutines never run
// JavaScript at once.
type callbacks struct {
	runtime *goja.Runtime

	mu       sync.Mutex
	idle     *sync.Cond
	running  int
	closed   bool
	firstErr error // of a callback, since the last takeFailure
}

func newCallbacks(runtime *goja.Runtime) *callbacks {
	c := &callbacks{runtime: runtime}
	c.idle = sync.NewCond(&c.mu)
	return c
}

// call calls a function of the test, unless the test has timed out.
func (c *callbacks) call(f goja.Callable, args ...goja.Value) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.running++
	c.mu.Unlock()
	_, err := f(goja.Undefined(), args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running--; c.running == 0 {
		c.idle.Broadcast()
	}
	if err != nil && c.firstErr == nil {
		c.firstErr = err
	}
}

// takeFailure returns the first error of a callback since its last call.
func (c *callbacks) takeFailure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.firstErr
	c.firstErr = nil
	return err
}

func (c *callbacks) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// close interrupts a running callback and rejects later ones.
func (c *callbacks) close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for c.running > 0 {
		c.runtime.Interrupt(cause)
		c.idle.Wait()
	}
}

// timeoutError is the error of a test that exceeds its time limit.
type timeoutError struct{ limit time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("the test took longer than %v of real time (--test-timeout, or {timeout: milliseconds} at the "+
		"test)", e.limit)
}

// withTimeout returns a context for JavaScript of the file, which ends with parent or after limit of
// real time.
func (f *file) withTimeout(parent context.Context, limit time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	calls := f.callbacks
	finish := func(cause error) {
		calls.close(cause)
		cancel(cause)
	}
	stop := context.AfterFunc(parent, func() { finish(context.Cause(parent)) })
	timer := time.AfterFunc(limit, func() { finish(timeoutError{limit}) })
	return ctx, func() {
		stop()
		timer.Stop()
		cancel(nil)
	}
}
