package balancer

import (
	"iter"
	"log/slog"
	"sync"
	"time"
)

// thread is a thread of the server as a state machine: a coroutine that gives
// one Step after the other and is resumed with the result of each. It runs on no
// goroutine of its own and reads no clock.
type thread struct {
	pull func() (Step, bool)
	stop func()

	// Set by Resume, read by the coroutine between two steps.
	now    time.Time
	result any
	emit   func(Step) bool

	logger      *slog.Logger
	mu          *sync.Mutex // of the engine
	terminating bool        // guarded by mu
}

// begin makes main the coroutine. Nothing of it runs before the first Resume.
func (t *thread) begin(main func()) {
	t.pull, t.stop = iter.Pull(func(emit func(Step) bool) {
		t.emit = emit
		main()
	})
}

// Resume tells the thread the time and the result of its last step and
// returns the next step. The first call takes a nil result. After Stopped it
// keeps answering Stopped.
func (t *thread) Resume(now time.Time, result any) Step {
	t.now, t.result = now, result
	step, ok := t.pull()
	if !ok {
		return Stopped{}
	}
	return step
}

// Terminate asks the thread to stop: the next Resume unwinds to Stopped. The
// driver must also end a Sleep or a Wait that is under way.
func (t *thread) Terminate() {
	t.mu.Lock()
	t.terminating = true
	t.mu.Unlock()
}

// Close frees the coroutine of a thread that will not be resumed again.
func (t *thread) Close() { t.stop() }

// locked runs f with the mutex of the engine held. Should f panic, others get
// the mutex all the same.
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

// yield hands a step to the driver and returns the result that the thread is
// resumed with. It is not resumed when it is being torn down instead.
func (t *thread) yield(s Step) (result any, resumed bool) {
	t.result = nil
	if !t.emit(s) {
		t.Terminate()
		return nil, false
	}
	return t.result, true
}

// sleep waits for d, unless the thread terminates first.
func (t *thread) sleep(d time.Duration) {
	if d > 0 && !t.isTerminating() {
		t.yield(Sleep{Until: t.now.Add(d)})
	}
}
