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
	// maxPendingBytes is the size of the queue, in bytes, from which on it counts as full.
	maxPendingBytes = 64 << 20
	// maxTransactionEntries is the maximum number of entries of a transaction, unless a single batch has
	// more.
	maxTransactionEntries = 1 << 17
)

// writer writes batches of entries in the order in which they were added. Each transaction takes the
// batches that were added during the previous one. A batch is written completely or not at all.
//
// Adding a batch never blocks, because the caller holds the cluster's lock. Callers check whether the
// queue is full. As long as it is, they keep their changes, so that several changes of one entry become
// one.
type writer struct {
	mu             sync.Mutex
	apply          func([]Entry) error
	changed        chan struct{} // closed and replaced after each write and on failure
	batches        [][]Entry
	pendingBytes   int // of the queued batches and the transaction being written
	addedBatches   uint64
	writtenBatches uint64
	err            error
	closing        bool
	rejected       bool          // a batch was added after close or a failure
	capacityWanted bool          // a caller found the queue full
	work           chan struct{} // wakes the writer
	capacityFreed  chan struct{} // signalled to callers that found the queue full
	ended          chan struct{}
}

func newWriter(apply func([]Entry) error) *writer {
	w := &writer{
		apply: apply, changed: make(chan struct{}),
		work: make(chan struct{}, 1), capacityFreed: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go w.run()
	return w
}

// notifyWaiters wakes all waiters. The caller holds the lock.
func (w *writer) notifyWaiters() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// trySignal signals a channel with a buffer of one, without blocking.
func trySignal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // an earlier signal is still pending
	}
}

// add appends a batch to the queue.
func (w *writer) add(batch []Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing || w.err != nil {
		w.rejected = true
		w.notifyWaiters()
		return
	}
	w.batches = append(w.batches, batch)
	w.pendingBytes += size(batch)
	w.addedBatches++
	trySignal(w.work)
}

func size(batch []Entry) (bytes int) {
	for _, e := range batch {
		bytes += e.size()
	}
	return bytes
}

// isFull reports whether the queue is full. After a result of true, capacityFreed is signalled once
// there is room.
func (w *writer) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.capacityWanted = w.pendingBytes >= maxPendingBytes
	return w.capacityWanted
}

// releaseBytes subtracts bytes from the queue's size. The caller holds the lock.
func (w *writer) releaseBytes(bytes int) {
	w.pendingBytes -= bytes
	if !w.capacityWanted || w.pendingBytes >= maxPendingBytes {
		return
	}
	w.capacityWanted = false
	trySignal(w.capacityFreed)
}

// lastBatch returns the number of the last batch added.
func (w *writer) lastBatch() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addedBatches
}

// wait returns when all batches up to number mark are on disk. mark may be the number of the next batch
// if that batch is certain to come.
func (w *writer) wait(ctx context.Context, mark uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.writtenBatches < mark && w.err == nil && (mark <= w.addedBatches || !w.rejected) {
		changed := w.changed
		w.mu.Unlock()
		err := wait(ctx, changed)
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
	return w.clientErrorLocked()
}

func wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return mongoerr.New(mongoerr.Interrupted, "operation was interrupted before it was on disk: %s", context.Cause(ctx))
	}
}

func (w *writer) clientError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clientErrorLocked()
}

// clientErrorLocked returns the error for clients after a failure, when recent changes may not be on
// disk. The caller holds the lock.
func (w *writer) clientErrorLocked() error {
	switch {
	case w.err != nil:
		code := mongoerr.InternalError
		if full := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}; slices.ContainsFunc(full, w.causedBy) {
			code = mongoerr.OutOfDiskSpace
		}
		return mongoerr.New(code, "the state of the mock can't be written, restart it: %s", w.err)
	case w.rejected:
		return mongoerr.New(mongoerr.ShutdownInProgress, "the mock cluster is closed")
	}
	return nil
}

// causedBy reports whether cause is the reason of the failure. It compares messages too, because the
// library wraps some errors by message only.
func (w *writer) causedBy(cause error) bool {
	return errors.Is(w.err, cause) || strings.HasSuffix(w.err.Error(), ": "+cause.Error())
}

func (w *writer) intercept(around func(func([]Entry) error) func([]Entry) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.apply = around(w.apply)
}

// run writes batches until close.
func (w *writer) run() {
	defer close(w.ended)
	defer close(w.capacityFreed)
	for {
		batch, ok := w.nextTransaction()
		if !ok {
			return
		}
		w.finish(batch, mongoerr.CatchPanic(nil, "writing", func() error { return batch.apply(batch.entries) }))
	}
}

// transaction is the set of batches that are written in one transaction.
type transaction struct {
	apply   func([]Entry) error
	entries []Entry
	batches uint64
	bytes   int
}

func (w *writer) finish(t transaction, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.err = err
		w.batches = nil
		w.releaseBytes(w.pendingBytes)
	} else {
		w.writtenBatches += t.batches
		w.releaseBytes(t.bytes)
	}
	w.notifyWaiters()
}

// nextTransaction waits for batches. It returns false when the writer is closing and no batches are
// left.
func (w *writer) nextTransaction() (t transaction, ok bool) {
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
	for len(w.batches) > 0 && (t.batches == 0 || len(t.entries)+len(w.batches[0]) <= maxTransactionEntries) {
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

// close writes the queued batches and ends the writer.
func (w *writer) close() error {
	w.mu.Lock()
	w.closing = true
	trySignal(w.work)
	w.mu.Unlock()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
