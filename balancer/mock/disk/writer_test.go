package disk

import (
	"context"
	"errors"
	"testing"

	"shardsh/balancer/mongoerr"
)

// stall is a writer whose disk takes one batch for each value of next, and
// fails with it.
type stall struct {
	*writer
	next    chan error
	written [][]Entry
}

func newStall(t *testing.T) *stall {
	s := &stall{next: make(chan error)}
	s.writer = newWriter(func(entries []Entry) error {
		err := <-s.next
		s.written = append(s.written, entries)
		return err
	})
	t.Cleanup(func() { <-s.ended })
	return s
}

func batch(bytes int) []Entry { return []Entry{{BucketUsers, []byte("key"), make([]byte, bytes)}} }

// While the disk stalls, adding goes on; who asks hears that the queue is full,
// and is told when there is room.
func TestAddNeverWaits(t *testing.T) {
	s := newStall(t)
	if s.add(batch(1)); s.isFull() {
		t.Error("full of one small batch")
	}
	const big = maxPendingBytes / 4
	for range 4 {
		s.add(batch(big))
	}
	if !s.isFull() || s.pendingBytes < 4*big {
		t.Errorf("not full with %d bytes", s.pendingBytes)
	}
	s.next <- nil // the first, on its own or with those that came in time
	for len(s.capacityFreed) == 0 {
		select {
		case s.next <- nil:
		case <-s.capacityFreed:
			s.capacityFreed <- struct{}{}
		}
	}
	if s.isFull() {
		t.Errorf("full when there is room: %d bytes", s.pendingBytes)
	}
	close(s.next)
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if _, open := <-s.capacityFreed; !open {
		t.Error("what was in the channel is lost")
	}
	if _, open := <-s.capacityFreed; open {
		t.Error("the channel for room stays open")
	}
	if s.pendingBytes != 0 {
		t.Errorf("%d bytes wait after the end", s.pendingBytes)
	}
}

// A wait ends when the batch is written, also one that was still to come, or
// with its context.
func TestWaitForMark(t *testing.T) {
	s := newStall(t)
	s.add(batch(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.wait(ctx, s.lastBatch()); !mongoerr.Is(err, mongoerr.Interrupted) {
		t.Errorf("an interrupted wait: %v", err)
	}
	coming := make(chan error)
	go func() { coming <- s.wait(t.Context(), 2) }()
	s.next <- nil
	if err := s.wait(t.Context(), 1); err != nil {
		t.Error(err)
	}
	s.add(nil) // what had changed is as it was
	s.next <- nil
	if err := <-coming; err != nil {
		t.Error(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if s.add(batch(1)); !mongoerr.Is(s.wait(t.Context(), s.lastBatch()+1), mongoerr.ShutdownInProgress) {
		t.Error("what came too late is awaited without an error")
	}
}

// When the disk fails, everybody hears it, and nothing waits any more.
func TestWriterFails(t *testing.T) {
	s := newStall(t)
	s.add(batch(maxPendingBytes))
	if !s.isFull() {
		t.Error("not full")
	}
	gone := errors.New("the disk is gone")
	s.next <- gone
	if err := s.wait(t.Context(), 1); !mongoerr.Is(err, mongoerr.InternalError) {
		t.Error(err)
	}
	<-s.capacityFreed
	if s.clientError() == nil || s.isFull() {
		t.Error("a failed disk takes more")
	}
	if err := s.close(); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// A panic while a batch is written is a disk that has failed, not the end of the
// process.
func TestAPanicWhileWriting(t *testing.T) {
	w := newWriter(func([]Entry) error { panic("a page freed twice") })
	w.add(batch(1))
	if err := w.wait(t.Context(), w.lastBatch()); !mongoerr.Is(err, mongoerr.InternalError) {
		t.Errorf("who waits hears %v", err)
	}
	if err := w.close(); err == nil {
		t.Error("nothing is wrong at the end")
	}
}
