package mock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/disk"
)

// ErrHoldsCluster says that a directory has a cluster already where a new one
// was to be made.
var ErrHoldsCluster = errors.New("the directory holds a cluster already")

// Storage stores a cluster on disk, if it has a directory, together with the data of its
// routers: users and retryable writes.
type Storage struct {
	c *Cluster

	disk *diskWriter // nil keeps nothing
	// writes were kept by a router before the cluster was opened.
	writes []StoredWrite
	// users are those of the router, by database and name.
	users map[string][]byte
}

// Storage is that of the cluster.
func (c *Cluster) Storage() *Storage { return c.storage }

// diskWriter writes a cluster to disk. The cluster's lock guards it; waits for
// the disk happen without that lock.
type diskWriter struct {
	file    *disk.Disk
	tracker *tracker
	// writes are what retryable writes have done since the last look, by session;
	// nil where it need not be kept any more.
	writes map[string]bson.Raw
	// writesVoided: the retryable writes stored before are to be deleted.
	writesVoided bool
	// queueWasFull: the queue was full at the last look. What has changed since the
	// one before it goes into the next batch.
	queueWasFull bool
	closed       bool
	// awaitRecipientMajority is closed when nothing waits for room in the queue any more.
	caughtUp chan struct{}
	// onBatch observes each batch that is queued; nil outside of tests.
	onBatch func([]disk.Entry)
}

// open goes on with the cluster in a directory, or makes a new one there.
func (st *Storage) open(cfg Config) error {
	file, err := disk.Open(cfg.DBPath)
	if err != nil {
		return err
	}
	k := &diskWriter{file: file, tracker: newTracker(false), caughtUp: make(chan struct{})}
	if err := st.initialize(k, cfg); err != nil {
		_ = file.Close() // nothing has been handed over
		return err
	}
	st.disk, st.c.clock.ReportEachEvent = k, true
	st.queueChanges()
	go st.writeBacklog(k)
	return nil
}

func (st *Storage) initialize(k *diskWriter, cfg Config) error {
	if !k.file.HasState() {
		return st.initializeNew(k, cfg)
	}
	if cfg.Topology != nil || cfg.hasInitialState() {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, ErrHoldsCluster)
	}
	err := k.file.Read(func(from disk.Source) error {
		if err := st.load(from, k.tracker); err != nil {
			return err
		}
		for session, write := range from.Each(disk.BucketWrites) {
			st.writes = append(st.writes, StoredWrite{string(session), slices.Clone(write)})
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

func (st *Storage) initializeNew(k *diskWriter, cfg Config) error {
	if err := st.c.loadInitialState(cfg); err != nil {
		return err
	}
	return k.file.WriteInitialState(func(emit func(disk.Entry)) { k.tracker.capture(st.c, true, emit) })
}

// capture hands what has changed over to be written. Should that panic, it is not
// known what has been: nothing is kept any more.
func (k *diskWriter) capture(c *Cluster, last bool) {
	c.clock.Attempt("handing over to the disk", func() { k.captureChanges(c, last) }, k.file.Fail)
}

// captureChanges hands what has changed over to be written. While the queue is full it
// leaves the changes where they are noted: what changes again meanwhile takes
// no more memory.
func (k *diskWriter) captureChanges(c *Cluster, last bool) {
	if !last && k.file.Full() {
		k.queueWasFull = true
		return
	}
	var entries []disk.Entry
	emit := func(e disk.Entry) { entries = append(entries, e) }
	found := k.captureWrites(emit)
	if !k.tracker.capture(c, last || found, emit) && !found && !k.queueWasFull {
		return
	}
	k.queueWasFull = false // even without entries: somebody may wait for the batch
	if k.onBatch != nil {
		k.onBatch(entries)
	}
	k.file.Add(entries)
}

// captureWrites returns what is to be kept of retryable writes to emit, and
// reports whether there was anything.
func (k *diskWriter) captureWrites(emit func(disk.Entry)) bool {
	found := k.writesVoided || len(k.writes) > 0
	if k.writesVoided {
		emit(disk.Entry{Bucket: disk.BucketWrites})
	}
	for session, write := range k.writes {
		emit(disk.Entry{Bucket: disk.BucketWrites, Key: []byte(session), Value: write})
	}
	k.writes, k.writesVoided = nil, false
	return found
}

// writeBacklog queues the changes that accumulated while the queue was full, until the
// disk is closed.
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

// queueChanges hands what has changed over to be written. The caller holds the lock.
func (st *Storage) queueChanges() {
	if st.disk != nil {
		st.disk.capture(st.c, false)
	}
}

// QueueChanges hands what has changed over to be written. The caller holds the lock.
func (st *Storage) QueueChanges() { st.queueChanges() }

// Err returns why nothing is kept any more since something could not be
// written; nil while all is well. After Close it also says what is not on disk.
func (st *Storage) Err() error {
	if st.disk == nil {
		return nil
	}
	return st.disk.file.Err()
}

// StartFlush hands what has changed over to be written, and returns a function that
// waits until all that the cluster holds now is on disk, or until its context
// ends. The caller holds the lock, and waits after giving it back: others go on
// meanwhile.
func (st *Storage) StartFlush() (wait func(context.Context) error) {
	if st.disk == nil {
		return func(context.Context) error { return nil }
	}
	st.queueChanges()
	file, mark := st.disk.file, st.disk.file.LastBatch()
	if st.disk.queueWasFull {
		mark++
	}
	return func(ctx context.Context) error { return file.Wait(ctx, mark) }
}

// close writes what is left. It takes the lock, but does not hold it while
// it waits for the disk.
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
		st.c.logger.Error("the state of the mock is not all on disk", "dbpath", k.file.Dir(), "error", err)
	}
	<-k.caughtUp
}

// StoreUser keeps a user of the router's with the state; a nil value takes it
// away. The caller holds the lock.
func (st *Storage) StoreUser(name string, user bson.Raw) {
	if user == nil {
		delete(st.users, name)
		return
	}
	st.users[name] = user
}

// StoredUsers returns the users kept with the state, by name. The caller holds
// the lock.
func (st *Storage) StoredUsers() map[string][]byte { return st.users }

// StoredWrite is what a router remembers of a session's newest retryable write.
type StoredWrite struct {
	Session string
	Write   bson.Raw
}

// StoreWrite keeps what the router remembers of a session's newest retryable
// write, for as long as the cluster is on disk; nil takes it away. It is
// written together with what the write has changed. The caller holds the lock.
func (st *Storage) StoreWrite(session string, write bson.Raw) {
	if st.disk == nil {
		return
	}
	if st.disk.writes == nil {
		st.disk.writes = map[string]bson.Raw{}
	}
	st.disk.writes[session] = write
}

// StoresWrites reports whether StoreWrite does anything.
func (st *Storage) StoresWrites() bool { return st.disk != nil }

// TakeWrites returns the retryable writes that were kept when the cluster was
// opened, once.
func (st *Storage) TakeWrites() []StoredWrite {
	taken := st.writes
	st.writes = nil
	return taken
}

// forgetWrites makes what was kept of retryable writes void.
func (st *Storage) forgetWrites() {
	st.writes = nil
	if st.disk != nil {
		st.disk.writes, st.disk.writesVoided = nil, true
	}
}
