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

// openDisk goes on with the cluster in a directory, or makes a new one there.
func (c *Cluster) openDisk(cfg Config) error {
	file, err := disk.Open(cfg.DBPath)
	if err != nil {
		return err
	}
	k := &keeper{file: file, tracker: newTracker(false), caughtUp: make(chan struct{})}
	if err := c.furnishFrom(k, cfg); err != nil {
		_ = file.Close() // nothing has been handed over
		return err
	}
	c.disk, c.clock.EachRun = k, true
	c.persist()
	go c.writeRest(k)
	return nil
}

func (c *Cluster) furnishFrom(k *keeper, cfg Config) error {
	if !k.file.Begun() {
		return c.furnishNew(k, cfg)
	}
	if cfg.Topology != nil || cfg.begins() {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, ErrHoldsCluster)
	}
	err := k.file.Read(func(from disk.Source) error {
		if err := c.load(from, k.tracker); err != nil {
			return err
		}
		for session, write := range from.Each(disk.BucketWrites) {
			c.writes = append(c.writes, KeptWrite{string(session), slices.Clone(write)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, err)
	}
	if err := c.adjust(cfg); err != nil {
		return err
	}
	if err := c.config.adapt(); err != nil {
		return fmt.Errorf("dbpath %s: %w", cfg.DBPath, err)
	}
	c.rollBack()
	return nil
}

func (c *Cluster) furnishNew(k *keeper, cfg Config) error {
	if err := c.begin(cfg); err != nil {
		return err
	}
	return k.file.Begin(func(emit func(disk.Entry)) { k.tracker.capture(c, true, emit) })
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
func (c *Cluster) writeRest(k *keeper) {
	defer close(k.caughtUp)
	for range k.file.Room() {
		c.captureRest(k)
	}
}

func (c *Cluster) captureRest(k *keeper) {
	c.clock.WithLock(func() {
		if k.behind && !k.closed {
			k.capture(c, false)
		}
	})
}

// persist hands what has changed over to be written. The caller holds the lock.
func (c *Cluster) persist() {
	if c.disk != nil {
		c.disk.capture(c, false)
	}
}

// HandOver hands what has changed over to be written. The caller holds the lock.
func (c *Cluster) HandOver() { c.persist() }

// DiskError returns why nothing is kept any more since something could not be
// written; nil while all is well. After Close it also says what is not on disk.
func (c *Cluster) DiskError() error {
	if c.disk == nil {
		return nil
	}
	return c.disk.file.Err()
}

// Written hands what has changed over to be written, and returns a function that
// waits until all that the cluster holds now is on disk, or until its context
// ends. The caller holds the lock, and waits after giving it back: others go on
// meanwhile.
func (c *Cluster) Written() (wait func(context.Context) error) {
	if c.disk == nil {
		return func(context.Context) error { return nil }
	}
	c.persist()
	file, mark := c.disk.file, c.disk.file.Mark()
	if c.disk.behind {
		mark++
	}
	return func(ctx context.Context) error { return file.Wait(ctx, mark) }
}

// closeDisk writes what is left. It takes the lock, but does not hold it while
// it waits for the disk.
func (c *Cluster) closeDisk() {
	k := c.disk
	if k == nil {
		return
	}
	closes := false
	c.clock.WithLock(func() {
		if closes = !k.closed; closes {
			k.closed = true
			k.capture(c, true)
		}
	})
	if !closes {
		return
	}
	if err := k.file.Close(); err != nil {
		c.logger.Error("the state of the mock is not all on disk", "dbpath", k.file.Dir(), "error", err)
	}
	<-k.caughtUp
}

// KeepUser keeps a user of the router's with the state; a nil value takes it
// away. The caller holds the lock.
func (c *Cluster) KeepUser(name string, user bson.Raw) {
	if user == nil {
		delete(c.users, name)
		return
	}
	c.users[name] = user
}

// KeptUsers returns the users kept with the state, by name. The caller holds
// the lock.
func (c *Cluster) KeptUsers() map[string][]byte { return c.users }

// KeptWrite is what a router remembers of a session's newest retryable write.
type KeptWrite struct {
	Session string
	Write   bson.Raw
}

// KeepWrite keeps what the router remembers of a session's newest retryable
// write, for as long as the cluster is on disk; nil takes it away. It is
// written together with what the write has changed. The caller holds the lock.
func (c *Cluster) KeepWrite(session string, write bson.Raw) {
	if c.disk == nil {
		return
	}
	if c.disk.writes == nil {
		c.disk.writes = map[string]bson.Raw{}
	}
	c.disk.writes[session] = write
}

// KeepsWrites reports whether KeepWrite does anything.
func (c *Cluster) KeepsWrites() bool { return c.disk != nil }

// TakeWrites returns the retryable writes that were kept when the cluster was
// opened, once.
func (c *Cluster) TakeWrites() []KeptWrite {
	taken := c.writes
	c.writes = nil
	return taken
}

// forgetWrites makes what was kept of retryable writes void.
func (c *Cluster) forgetWrites() {
	c.writes = nil
	if c.disk != nil {
		c.disk.writes, c.disk.forgotten = nil, true
	}
}
