package mock

import (
	"errors"
	"sync"
	"syscall"

	"shardsh/balancer/mongoerr"
)

const (
	// mostWaiting is how many entries may wait to be written: beyond it whoever
	// brings more waits.
	mostWaiting = 1 << 20
	// mostAtOnce is how many entries one transaction takes at most, if not one
	// batch alone has more.
	mostAtOnce = 1 << 17
)

// writer writes batches of entries in the order in which they came: as many at
// a time as have come while the last ones were being written. A batch is
// written as a whole or not at all.
type writer struct {
	apply func([]entry) error

	mu      sync.Mutex
	changed sync.Cond
	batches [][]entry
	waiting int // entries in batches
	added   uint64
	written uint64
	err     error
	closing bool
	refused bool // a batch came too late
	ended   chan struct{}
}

func newWriter(apply func([]entry) error) *writer {
	w := &writer{apply: apply, ended: make(chan struct{})}
	w.changed.L = &w.mu
	go w.run()
	return w
}

// add puts a batch at the end.
func (w *writer) add(batch []entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.waiting > mostWaiting && w.err == nil {
		w.changed.Wait()
	}
	if w.closing || w.err != nil {
		w.refused = true
		return
	}
	w.batches = append(w.batches, batch)
	w.waiting += len(batch)
	w.added++
	w.changed.Broadcast()
}

// mark is the number of the last batch added.
func (w *writer) mark() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.added
}

// wait returns when all batches up to a mark are on disk.
func (w *writer) wait(mark uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.written < mark && w.err == nil {
		w.changed.Wait()
	}
	switch {
	case w.err != nil:
		return w.failure()
	case w.refused:
		return errClosed()
	}
	return nil
}

// failure is what a client hears: nothing is known to be kept any more.
func (w *writer) failure() error {
	code := mongoerr.InternalError
	if errors.Is(w.err, syscall.ENOSPC) {
		code = mongoerr.OutOfDiskSpace
	}
	return mongoerr.New(code, "the state of the mock can't be written, restart it: %s", w.err)
}

// run writes until close.
func (w *writer) run() {
	defer close(w.ended)
	for {
		entries, batches := w.take()
		if batches == 0 {
			return
		}
		err := w.apply(entries)
		w.mu.Lock()
		if err != nil {
			w.err = err
			w.batches, w.waiting = nil, 0
		} else {
			w.written += batches
		}
		w.changed.Broadcast()
		w.mu.Unlock()
	}
}

// take waits for batches; none are left when the writer closes.
func (w *writer) take() (entries []entry, batches uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.batches) == 0 && !w.closing {
		w.changed.Wait()
	}
	for len(w.batches) > 0 && (batches == 0 || len(entries)+len(w.batches[0]) <= mostAtOnce) {
		if batches == 0 {
			entries = w.batches[0]
		} else {
			entries = append(entries, w.batches[0]...)
		}
		w.batches[0] = nil
		w.batches = w.batches[1:]
		batches++
	}
	w.waiting -= len(entries)
	return entries, batches
}

// close writes what has been added and ends the writer.
func (w *writer) close() error {
	w.mu.Lock()
	w.closing = true
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
