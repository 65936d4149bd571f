package disk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"

	"shardsh/balancer/mongoerr"
)

const (
	// maxWaiting is how many bytes may wait to be written until the queue is
	// full.
	maxWaiting = 64 << 20
	// maxAtOnce is how many entries one transaction takes at most, if not one
	// batch alone has more.
	maxAtOnce = 1 << 17
)

// writer writes batches of entries in the order in which they came: as many at
// a time as have come while the last ones were being written. A batch is
// written as a whole or not at all.
//
// Nobody waits to add a batch, since who adds one holds a lock that others want:
// they look whether the queue is full, and keep their changes to themselves as
// long as it is, where changes of the same thing become one.
type writer struct {
	mu      sync.Mutex
	apply   func([]Entry) error
	changed chan struct{} // closed and made again when something is written, or won't be
	batches [][]Entry
	waiting int // bytes in batches, and of what is being written
	added   uint64
	written uint64
	err     error
	closing bool
	refused bool          // a batch came too late
	wanted  bool          // somebody found the queue full
	work    chan struct{} // tells the writer to look
	room    chan struct{} // tells who found the queue full
	ended   chan struct{}
}

func newWriter(apply func([]Entry) error) *writer {
	w := &writer{
		apply: apply, changed: make(chan struct{}),
		work: make(chan struct{}, 1), room: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go w.run()
	return w
}

// tell wakes whoever waits. The caller holds the lock.
func (w *writer) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// nudge leaves a note in a channel that has place for one.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // the last one has not been taken yet
	}
}

// add puts a batch at the end.
func (w *writer) add(batch []Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing || w.err != nil {
		w.refused = true
		w.tell()
		return
	}
	w.batches = append(w.batches, batch)
	w.waiting += size(batch)
	w.added++
	nudge(w.work)
}

func size(batch []Entry) (bytes int) {
	for _, e := range batch {
		bytes += e.size()
	}
	return bytes
}

// full reports whether enough waits to be written. Who hears so finds something
// in room once there is room again.
func (w *writer) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = w.waiting >= maxWaiting
	return w.wanted
}

// makeRoom takes bytes off what waits. The caller holds the lock.
func (w *writer) makeRoom(bytes int) {
	w.waiting -= bytes
	if !w.wanted || w.waiting >= maxWaiting {
		return
	}
	w.wanted = false
	nudge(w.room)
}

// mark returns the number of the last batch added.
func (w *writer) mark() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.added
}

// wait returns when all batches up to a mark are on disk. A mark may be that of
// the next batch, which comes for sure.
func (w *writer) wait(ctx context.Context, mark uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.written < mark && w.err == nil && (mark <= w.added || !w.refused) {
		changed := w.changed
		w.mu.Unlock()
		err := wait(ctx, changed)
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
	return w.failure()
}

func wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return mongoerr.New(mongoerr.Interrupted, "operation was interrupted before it was on disk: %s", context.Cause(ctx))
	}
}

func (w *writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure()
}

// failure returns what a client hears: nothing is known to be kept any more.
// The caller holds the lock.
func (w *writer) failure() error {
	switch {
	case w.err != nil:
		code := mongoerr.InternalError
		if full := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}; slices.ContainsFunc(full, w.failedFor) {
			code = mongoerr.OutOfDiskSpace
		}
		return mongoerr.New(code, "the state of the mock can't be written, restart it: %s", w.err)
	case w.refused:
		return mongoerr.New(mongoerr.ShutdownInProgress, "the mock cluster is closed")
	}
	return nil
}

// failedFor reports whether this was the reason. The library wraps some errors
// by their text only.
func (w *writer) failedFor(cause error) bool {
	return errors.Is(w.err, cause) || strings.HasSuffix(w.err.Error(), ": "+cause.Error())
}

func (w *writer) intercept(around func(func([]Entry) error) func([]Entry) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.apply = around(w.apply)
}

// run writes until close.
func (w *writer) run() {
	defer close(w.ended)
	defer close(w.room)
	for {
		batch, ok := w.take()
		if !ok {
			return
		}
		w.done(batch, mongoerr.Guard(nil, "writing", func() error { return batch.apply(batch.entries) }))
	}
}

// transaction is what is written at once.
type transaction struct {
	apply   func([]Entry) error
	entries []Entry
	batches uint64
	bytes   int
}

func (w *writer) done(t transaction, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.err = err
		w.batches = nil
		w.makeRoom(w.waiting)
	} else {
		w.written += t.batches
		w.makeRoom(t.bytes)
	}
	w.tell()
}

// take waits for batches; it is false when none are left and the writer closes.
func (w *writer) take() (t transaction, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.batches) == 0 && !w.closing {
		w.mu.Unlock()
		<-w.work
		w.mu.Lock()
	}
	if len(w.batches) == 0 {
		return t, false
	}
	t.apply = w.apply
	for len(w.batches) > 0 && (t.batches == 0 || len(t.entries)+len(w.batches[0]) <= maxAtOnce) {
		if t.batches == 0 {
			t.entries = w.batches[0]
		} else {
			t.entries = append(t.entries, w.batches[0]...)
		}
		w.batches[0] = nil
		w.batches = w.batches[1:]
		t.batches++
	}
	t.bytes = size(t.entries)
	return t, true
}

// close writes what has been added and ends the writer.
func (w *writer) close() error {
	w.mu.Lock()
	w.closing = true
	nudge(w.work)
	w.mu.Unlock()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
