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

// Storage keeps a cluster on disk, if that has a directory, with what its routers
// give it to be kept: users, and retryable writes.
type Storage struct {
	c *Cluster

	disk *keeper // nil keeps nothing
	// writes were kept by a router before the cluster was opened.
	writes []KeptWrite
	// users are those of the router, by database and name.
	users map[string][]byte
}

// Storage is that of the cluster.
func (c *Cluster) Storage() *Storage { return c.storage }

// keeper keeps a cluster on disk. The cluster's lock guards it; what waits for
// the disk waits without that lock.
type keeper struct {
	file    *disk.Disk
	tracker *tracker
	// writes are what retryable writes have done since the last look, by session;
	// nil where it need not be kept any more.
	writes map[string]bson.Raw
	// forgotten: what was kept of retryable writes before is void.
	forgotten bool
	// behind: the queue was full at the last look. What has changed since the
	// one before it goes into the next batch.
	behind bool
	closed bool
	// caughtUp is closed when nothing waits for room in the queue any more.
	caughtUp chan struct{}
	// batched looks at what is handed over; nil outside of tests.
	batched func([]disk.Entry)
}

// open goes on with the cluster in a directory, or makes a new one there.
func (st *Storage) open(cfg Config) error {
	file, err := disk.Open(cfg.DBPath)
	if err != nil {
		return err
	}
	k := &keeper{file: file, tracker: newTracker(false), caughtUp: make(chan struct{})}
	if err := st.furnishFrom(k, cfg); err != nil {
		_ = file.Close() // nothing has been handed over
		return err
	}
	st.disk, st.c.clock.EachRun = k, true
	st.persist()
	go st.writeRest(k)
	return nil
}

func (st *Storage) furnishFrom(k *keeper, cfg Config) error {
	if !k.file.Begun() {
		return st.furnishNew(k, cfg)
	}
	if cfg.Topology != nil || cfg.begins() {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, ErrHoldsCluster)
	}
	err := k.file.Read(func(from disk.Source) error {
		if err := st.load(from, k.tracker); err != nil {
			return err
		}
		for session, write := range from.Each(disk.BucketWrites) {
			st.writes = append(st.writes, KeptWrite{string(session), slices.Clone(write)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, err)
	}
	if err := st.c.adjust(cfg); err != nil {
		return err
	}
	if err := st.c.config.adapt(); err != nil {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, err)
	}
	rollbackOf(st.c).all()
	return nil
}

func (st *Storage) furnishNew(k *keeper, cfg Config) error {
	if err := st.c.begin(cfg); err != nil {
		return err
	}
	return k.file.Begin(func(emit func(disk.Entry)) { k.tracker.capture(st.c, true, emit) })
}

// capture hands what has changed over to be written. Should that panic, it is not
// known what has been: nothing is kept any more.
func (k *keeper) capture(c *Cluster, last bool) {
	c.clock.Attempt("handing over to the disk", func() { k.captureChanges(c, last) }, k.file.Fail)
}

// captureChanges hands what has changed over to be written. While the queue is full it
// leaves the changes where they are noted: what changes again meanwhile takes
// no more memory.
func (k *keeper) captureChanges(c *Cluster, last bool) {
	if !last && k.file.Full() {
		k.behind = true
		return
	}
	var entries []disk.Entry
	emit := func(e disk.Entry) { entries = append(entries, e) }
	found := k.captureWrites(emit)
	if !k.tracker.capture(c, last || found, emit) && !found && !k.behind {
		return
	}
	k.behind = false // even without entries: somebody may wait for the batch
	if k.batched != nil {
		k.batched(entries)
	}
	k.file.Add(entries)
}

// captureWrites returns what is to be kept of retryable writes to emit, and
// reports whether there was anything.
func (k *keeper) captureWrites(emit func(disk.Entry)) bool {
	found := k.forgotten || len(k.writes) > 0
	if k.forgotten {
		emit(disk.Entry{Bucket: disk.BucketWrites})
	}
	for session, write := range k.writes {
		emit(disk.Entry{Bucket: disk.BucketWrites, Key: []byte(session), Value: write})
	}
	k.writes, k.forgotten = nil, false
	return found
}

// writeRest hands over what has piled up while the queue was full, until the
// disk is closed.
func (st *Storage) writeRest(k *keeper) {
	defer close(k.caughtUp)
	for range k.file.Room() {
		st.captureRest(k)
	}
}

func (st *Storage) captureRest(k *keeper) {
	st.c.clock.WithLock(func() {
		if k.behind && !k.closed {
			k.capture(st.c, false)
		}
	})
}

// persist hands what has changed over to be written. The caller holds the lock.
func (st *Storage) persist() {
	if st.disk != nil {
		st.disk.capture(st.c, false)
	}
}

// HandOver hands what has changed over to be written. The caller holds the lock.
func (st *Storage) HandOver() { st.persist() }

// Err returns why nothing is kept any more since something could not be
// written; nil while all is well. After Close it also says what is not on disk.
func (st *Storage) Err() error {
	if st.disk == nil {
		return nil
	}
	return st.disk.file.Err()
}

// Written hands what has changed over to be written, and returns a function that
// waits until all that the cluster holds now is on disk, or until its context
// ends. The caller holds the lock, and waits after giving it back: others go on
// meanwhile.
func (st *Storage) Written() (wait func(context.Context) error) {
	if st.disk == nil {
		return func(context.Context) error { return nil }
	}
	st.persist()
	file, mark := st.disk.file, st.disk.file.Mark()
	if st.disk.behind {
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

// KeepUser keeps a user of the router's with the state; a nil value takes it
// away. The caller holds the lock.
func (st *Storage) KeepUser(name string, user bson.Raw) {
	if user == nil {
		delete(st.users, name)
		return
	}
	st.users[name] = user
}

// KeptUsers returns the users kept with the state, by name. The caller holds
// the lock.
func (st *Storage) KeptUsers() map[string][]byte { return st.users }

// KeptWrite is what a router remembers of a session's newest retryable write.
type KeptWrite struct {
	Session string
	Write   bson.Raw
}

// KeepWrite keeps what the router remembers of a session's newest retryable
// write, for as long as the cluster is on disk; nil takes it away. It is
// written together with what the write has changed. The caller holds the lock.
func (st *Storage) KeepWrite(session string, write bson.Raw) {
	if st.disk == nil {
		return
	}
	if st.disk.writes == nil {
		st.disk.writes = map[string]bson.Raw{}
	}
	st.disk.writes[session] = write
}

// KeepsWrites reports whether KeepWrite does anything.
func (st *Storage) KeepsWrites() bool { return st.disk != nil }

// TakeWrites returns the retryable writes that were kept when the cluster was
// opened, once.
func (st *Storage) TakeWrites() []KeptWrite {
	taken := st.writes
	st.writes = nil
	return taken
}

// forgetWrites makes what was kept of retryable writes void.
func (st *Storage) forgetWrites() {
	st.writes = nil
	if st.disk != nil {
		st.disk.writes, st.disk.forgotten = nil, true
	}
}
