package balancer

import (
	"iter"
	"log/slog"
	"sync"
	"time"
)

// thread is a thread of the server as a state machine: a coroutine that yields one Step after the other
// and is resumed with the result of each Step. It has no goroutine of its own and reads no clock.
type thread struct {
	pull func() (Step, bool)
	stop func()

	// now and result are set by Resume, and read by the coroutine between two steps.
	now    time.Time
	result any
	emit   func(Step) bool

	logger      *slog.Logger
	mu          *sync.Mutex // of the engine
	terminating bool        // guarded by mu
}

// begin makes main the body of the coroutine. main starts with the first Resume.
func (t *thread) begin(main func()) {
	t.pull, t.stop = iter.Pull(func(emit func(Step) bool) {
		t.emit = emit
		main()
	})
}

// Resume passes the time and the result of the last step to the thread and returns the next step. The
// result of the first call is nil. After Stopped, every call returns Stopped.
func (t *thread) Resume(now time.Time, result any) Step {
	t.now, t.result = now, result
	step, ok := t.pull()
	if !ok {
		return Stopped{}
	}
	return step
}

// Terminate asks the thread to stop: after the next Resume it ends with Stopped. The driver must also
// end a Sleep or a Wait in progress.
func (t *thread) Terminate() {
	t.mu.Lock()
	t.terminating = true
	t.mu.Unlock()
}

// Close frees the coroutine of a thread that will not be resumed again.
func (t *thread) Close() { t.stop() }

// locked runs f with the mutex of the engine held. It unlocks the mutex even if f panics.
func (t *thread) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

func (t *thread) isTerminating() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.terminating
}

// yield passes a step to the driver and returns the result with which the thread is resumed. resumed is
// false if the thread is closed instead.
func (t *thread) yield(s Step) (result any, resumed bool) {
	t.result = nil
	if !t.emit(s) {
		t.Terminate()
		return nil, false
	}
	return t.result, true
}

// sleep waits for d, or until the thread terminates.
func (t *thread) sleep(d time.Duration) {
	if d > 0 && !t.isTerminating() {
		t.yield(Sleep{Until: t.now.Add(d)})
	}
}
