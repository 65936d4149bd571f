package mock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/disk"
)

// ErrHoldsCluster is the error for creating a new cluster in a directory that contains one.
var ErrHoldsCluster = errors.New("the directory already contains a cluster")

// Storage stores a cluster on disk, if it has a directory. It also stores data of the routers: users and
// retryable writes.
type Storage struct {
	c *Cluster

	disk *diskWriter // nil to store nothing
	// storedRetryableWrites are the retryable writes in the stored state when the cluster was opened.
	storedRetryableWrites []StoredRetryableWrite
	// users are the stored users of the router by database and name.
	users map[string][]byte
}

// Storage returns the Storage of the cluster.
func (c *Cluster) Storage() *Storage { return c.storage }

// diskWriter writes a cluster to disk. The cluster's lock guards it. Waits for the disk do not hold that
// lock.
type diskWriter struct {
	file    *disk.Disk
	tracker *changeCapture
	// retryableWrites are the results of retryable writes since the last capture, by session; nil deletes an
	// entry.
	retryableWrites map[string]bson.Raw
	// retryableWritesVoided reports that all previously stored retryable writes are to be deleted.
	retryableWritesVoided bool
	// queueWasFull reports that the queue was full at the last capture. The changes since the capture
	// before are in the next batch.
	queueWasFull bool
	closed       bool
	// caughtUp is closed when writeBacklog has ended, so that no more changes wait for capacity of the
	// queue.
	caughtUp chan struct{}
	// onBatch observes each batch that is queued; nil outside of tests.
	onBatch func([]disk.Entry)
}

// open continues the cluster in a directory, or creates a new one there.
func (st *Storage) open(cfg Config) error {
	file, err := disk.Open(cfg.DBPath)
	if err != nil {
		return err
	}
	k := &diskWriter{file: file, tracker: newChangeCapture(false), caughtUp: make(chan struct{})}
	if err := st.loadOrCreate(k, cfg); err != nil {
		_ = file.Close() // nothing was added yet
		return err
	}
	st.disk, st.c.clock.ReportEachEvent = k, true
	st.QueueChanges()
	go st.writeBacklog(k)
	return nil
}

func (st *Storage) loadOrCreate(k *diskWriter, cfg Config) error {
	if !k.file.HasState() {
		return st.createNew(k, cfg)
	}
	if cfg.Topology != nil || cfg.hasInitialState() {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, ErrHoldsCluster)
	}
	err := k.file.Read(func(from disk.Source) error {
		if err := st.load(from, k.tracker); err != nil {
			return err
		}
		for session, write := range from.Each(disk.BucketRetryableWrites) {
			st.storedRetryableWrites = append(st.storedRetryableWrites,
				StoredRetryableWrite{string(session), slices.Clone(write)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, err)
	}
	if err := st.c.applyOverrides(cfg); err != nil {
		return err
	}
	if err := st.c.config.adaptEntries(); err != nil {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, err)
	}
	newRollback(st.c).run()
	return nil
}

func (st *Storage) createNew(k *diskWriter, cfg Config) error {
	if err := st.c.loadInitialState(cfg); err != nil {
		return err
	}
	return k.file.WriteInitialState(func(emit func(disk.Entry)) { k.tracker.capture(st.c, true, emit) })
}

// capture adds the changes to the disk's queue. If it panics, the written state is unknown, so storing
// stops.
func (d *diskWriter) capture(c *Cluster, last bool) {
	c.clock.Attempt("handing over to the disk", func() { d.captureChanges(c, last) }, d.file.Fail)
}

// captureChanges adds the changes to the disk's queue. While the queue is full it leaves them to the
// trackers, where repeated changes of the same data take no more memory.
func (d *diskWriter) captureChanges(c *Cluster, last bool) {
	if !last && d.file.IsFull() {
		d.queueWasFull = true
		return
	}
	var entries []disk.Entry
	emit := func(e disk.Entry) { entries = append(entries, e) }
	found := d.captureWrites(emit)
	if !d.tracker.capture(c, last || found, emit) && !found && !d.queueWasFull {
		return
	}
	d.queueWasFull = false // adds the batch even if it is empty, because callers may wait for it
	if d.onBatch != nil {
		d.onBatch(entries)
	}
	d.file.Add(entries)
}

// captureWrites calls emit for the changed retryable writes and reports whether there were any.
func (d *diskWriter) captureWrites(emit func(disk.Entry)) bool {
	found := d.retryableWritesVoided || len(d.retryableWrites) > 0
	if d.retryableWritesVoided {
		emit(disk.Entry{Bucket: disk.BucketRetryableWrites})
	}
	for session, write := range d.retryableWrites {
		emit(disk.Entry{Bucket: disk.BucketRetryableWrites, Key: []byte(session), Value: write})
	}
	d.retryableWrites, d.retryableWritesVoided = nil, false
	return found
}

// writeBacklog adds the changes that accumulated while the queue was full. It ends when the disk is
// closed.
func (st *Storage) writeBacklog(k *diskWriter) {
	defer close(k.caughtUp)
	for range k.file.CapacityFreed() {
		st.captureBacklog(k)
	}
}

func (st *Storage) captureBacklog(k *diskWriter) {
	st.c.clock.WithLock(func() {
		if k.queueWasFull && !k.closed {
			k.capture(st.c, false)
		}
	})
}

// QueueChanges adds the changes to the disk's queue. The caller holds the lock.
func (st *Storage) QueueChanges() {
	if st.disk != nil {
		st.disk.capture(st.c, false)
	}
}

// Err returns the error after which nothing is stored anymore, nil if there is none. After Close it also
// reports changes that are not on disk.
func (st *Storage) Err() error {
	if st.disk == nil {
		return nil
	}
	return st.disk.file.Err()
}

// StartFlush adds the changes to the disk's queue. The returned function waits until the current state
// of the cluster is on disk or its context ends. The caller of StartFlush holds the lock; it releases
// the lock before it calls the returned function.
func (st *Storage) StartFlush() (wait func(context.Context) error) {
	if st.disk == nil {
		return func(context.Context) error { return nil }
	}
	st.QueueChanges()
	file, mark := st.disk.file, st.disk.file.LastBatch()
	if st.disk.queueWasFull {
		mark++
	}
	return func(ctx context.Context) error { return file.Wait(ctx, mark) }
}

// close writes the remaining changes. It takes the lock, but does not hold it while it waits for the
// disk.
func (st *Storage) close() {
	k := st.disk
	if k == nil {
		return
	}
	closes := false
	st.c.clock.WithLock(func() {
		if closes = !k.closed; closes {
			k.closed = true
			k.capture(st.c, true)
		}
	})
	if !closes {
		return
	}
	if err := k.file.Close(); err != nil {
		st.c.logger.Error("part of the state of the mock is not on disk", "dbpath", k.file.Dir(), "error", err)
	}
	<-k.caughtUp
}

// StoreUser stores a user of the router with the state; a nil user deletes the entry. The caller holds
// the lock.
func (st *Storage) StoreUser(name string, user bson.Raw) {
	if user == nil {
		delete(st.users, name)
		return
	}
	st.users[name] = user
}

// StoredUsers returns the stored users by name. The caller holds the lock.
func (st *Storage) StoredUsers() map[string][]byte { return st.users }

// StoredRetryableWrite is the stored newest retryable write of a session.
type StoredRetryableWrite struct {
	Session string
	Write   bson.Raw
}

// StoreRetryableWrite stores a session's newest retryable write if the cluster is stored on disk; nil
// deletes it. It is written together with the changes of the write itself. The caller holds the lock.
func (st *Storage) StoreRetryableWrite(session string, write bson.Raw) {
	if st.disk == nil {
		return
	}
	if st.disk.retryableWrites == nil {
		st.disk.retryableWrites = map[string]bson.Raw{}
	}
	st.disk.retryableWrites[session] = write
}

// CanStoreRetryableWrites reports whether StoreRetryableWrite has an effect.
func (st *Storage) CanStoreRetryableWrites() bool { return st.disk != nil }

// TakeRetryableWrites returns the retryable writes that were stored when the cluster was opened. Further
// calls return nothing.
func (st *Storage) TakeRetryableWrites() []StoredRetryableWrite {
	taken := st.storedRetryableWrites
	st.storedRetryableWrites = nil
	return taken
}

// forgetRetryableWrites deletes all stored retryable writes.
func (st *Storage) forgetRetryableWrites() {
	st.storedRetryableWrites = nil
	if st.disk != nil {
		st.disk.retryableWrites, st.disk.retryableWritesVoided = nil, true
	}
}
