package balancer

import (
	"context"
	"log/slog"
	"time"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// EventDriver runs a loop and its streams on the virtual time of a queue. Its code runs inside the
// queue's events; it starts no goroutine.
type EventDriver struct {
	loop          *Loop
	main, streams *eventThread
}

// NewEventDriver returns a driver; Start begins the loop.
func NewEventDriver(q *Queue, l *Loop, c EventCluster) *EventDriver {
	d := &EventDriver{
		loop: l,
		main: &eventThread{queue: q, cluster: c, logger: l.logger, advance: l.Resume},
		streams: &eventThread{
			queue: q, cluster: c, logger: l.logger, advance: l.Streams().Resume, actionDone: l.Streams().ActionDone,
		},
	}
	l.Streams().OnWake(d.streams.wake)
	return d
}

// Start puts the first steps of both threads into the queue, due now.
func (d *EventDriver) Start() {
	d.main.start()
	d.streams.start()
}

// Stop terminates the loop. Migrations and actions in progress run to their end.
func (d *EventDriver) Stop() {
	if d.main.stopped {
		return
	}
	d.main.stop()
	d.streams.stop()
	d.loop.Terminate()
	d.loop.Close()
}

// eventThread runs one of the two threads.
type eventThread struct {
	queue      *Queue
	cluster    EventCluster
	logger     *slog.Logger
	advance    func(now time.Time, result any) Step
	actionDone func(context.Context, DefragmentationStore, policy.StreamAction, policy.StreamActionResult)

	timer   *Event // that ends a Sleep or a WaitForWake
	waiting bool
	stopped bool
}

func (t *eventThread) start() { t.queue.After(0, func() { t.resume(nil) }) }

func (t *eventThread) stop() {
	t.stopped = true
	t.timer.Cancel()
}

// wake ends a WaitForWake with an event of its own.
func (t *eventThread) wake() {
	if !t.waiting || t.stopped {
		return
	}
	t.waiting = false
	t.timer.Cancel()
	t.start()
}

// resume runs the thread until it has to wait.
func (t *eventThread) resume(result any) {
	t.waiting, t.timer = false, nil
	for !t.stopped {
		switch step := t.advance(t.queue.Now(), result).(type) {
		case Stopped:
			t.stopped = true
		case Sleep:
			t.timer = t.queue.At(step.Until, func() { t.resume(nil) })
			return
		case WaitForWake:
			t.waiting = true
			if !step.Until.IsZero() {
				t.timer = t.queue.At(step.Until, func() { t.resume(nil) })
			}
			return
		case Call:
			result = step.Do(context.Background(), t.cluster)
		case Moves:
			t.startMoves(step)
			return
		case StartAction:
			t.startAction(step.Action)
			result = nil
		}
	}
}

func (t *eventThread) startAction(a policy.StreamAction) {
	done := once(func(r policy.StreamActionResult) {
		if t.stopped {
			return // no thread waits for the reply any more
		}
		t.actionDone(context.Background(), t.cluster, a, r)
	})
	err := mongoerr.CatchPanic(t.logger, "an action of the balancer", func() error {
		t.cluster.StartAction(a, done)
		return nil
	})
	if err != nil {
		done(policy.StreamActionResult{Err: err})
	}
}

func (t *eventThread) startMoves(step Moves) {
	n := len(step.Migrations)
	batch := &moveBatch{thread: t, results: make([]error, n), remaining: n}
	for i, m := range step.Migrations {
		done := once(func(err error) { batch.moveDone(i, err) })
		err := mongoerr.CatchPanic(t.logger, "a migration", func() error {
			t.cluster.StartMove(m, done)
			return nil
		})
		if err != nil {
			done(err)
		}
	}
}

// moveBatch is a batch of migrations that a thread waits for.
type moveBatch struct {
	thread    *eventThread
	results   []error
	remaining int
}

// moveDone records the result of a migration.
func (b *moveBatch) moveDone(i int, err error) {
	b.results[i] = err
	if b.remaining--; b.remaining == 0 {
		b.thread.queue.After(0, func() { b.thread.resume(b.results) })
	}
}

// once makes done idempotent: an operation may report its result and then panic.
func once[T any](done func(T)) func(T) {
	called := false
	return func(result T) {
		if !called {
			called = true
			done(result)
		}
	}
}
