package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// FileName is the name of the state file in its directory.
const FileName = "mock.db"

// newSuffix is appended to FileName while a state file is being written.
const newSuffix = ".new"

const (
	// lockWait is how long Open waits for another process to release the file.
	lockWait = time.Second
	// initialBatchEntries is the batch size, in entries, when a new cluster is written.
	initialBatchEntries = 50_000
)

// Disk stores a cluster's state in a file of a directory. Its methods are safe for concurrent use.
type Disk struct {
	dir      string
	path     string // of the file; has newSuffix until the file holds a state
	hasState bool
	db       *bbolt.DB
	writer   *writer
}

// Open opens a directory and creates it if it is missing. Only one process can have a directory open.
// Open fails if the file is damaged. Close releases the directory.
func Open(dir string) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("dbpath: %w", err)
	}
	d := &Disk{dir: dir, path: filepath.Join(dir, FileName)}
	begun, err := d.verifyAndUpgrade()
	if err != nil {
		return nil, err
	}
	if d.hasState = begun; !begun {
		d.path += newSuffix
	}
	if d.db, err = openBolt(d.path); err != nil {
		return nil, openError(dir, d.path, err)
	}
	d.writer = newWriter(d.apply)
	return d, nil
}

func openBolt(path string) (*bbolt.DB, error) {
	return bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockWait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
	})
}

// openError returns the error for a file that cannot be opened, with a remedy.
func openError(dir, path string, err error) error {
	var damage *DamageError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("dbpath: %s is in use by another process; stop it, or give another directory", dir)
	case errors.Is(err, errNoState), errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("dbpath: %s does not contain the state of a mock cluster: %w", path, err)
	case errors.As(err, &damage):
		return fmt.Errorf("dbpath: %s: %w; %s", path, err, remedy)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("dbpath: %s can't be opened for writing: %w", path, err)
	}
	return fmt.Errorf("dbpath: %s: %w", path, err)
}

// Dir returns the directory.
func (d *Disk) Dir() string { return d.dir }

// HasState reports whether the file holds a complete state.
func (d *Disk) HasState() bool { return d.hasState }

// WriteInitialState writes a complete new state. The file gets its final name only when it is complete,
// so an interrupted write leaves no state.
func (d *Disk) WriteInitialState(all func(emit func(Entry))) error {
	if err := errors.Join(d.clear(), d.writeAll(all), d.db.Close()); err != nil {
		return err
	}
	path := filepath.Join(d.dir, FileName)
	if err := renameDurably(d.path, path); err != nil {
		return err
	}
	d.path, d.hasState = path, true
	var err error
	if d.db, err = openBolt(path); err != nil {
		return openError(d.dir, path, err)
	}
	return nil
}

// writeAll writes a complete state; the format comes last.
func (d *Disk) writeAll(all func(emit func(Entry))) error {
	var pending []Entry
	var failed error
	flush := func() {
		if failed == nil {
			failed = d.apply(pending)
		}
		pending = pending[:0]
	}
	all(func(e Entry) {
		if pending = append(pending, e); len(pending) == initialBatchEntries {
			flush()
		}
	})
	pending = append(pending, Entry{BucketMeta, []byte(MetaFormat), NumberKey(FormatVersion)})
	flush()
	return failed
}

func (d *Disk) clear() error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		var names [][]byte
		err := tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			names = append(names, name)
			return nil
		})
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// apply writes entries in order, in one transaction. A page that has become unreadable since Open is
// reported as an error.
func (d *Disk) apply(entries []Entry) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s can no longer be read: %v", d.path, p)
		}
	}()
	return d.db.Update(func(tx *bbolt.Tx) error { return write(tx, entries) })
}

// Read calls read with a consistent view of the written state.
func (d *Disk) Read(read func(Source) error) error {
	return d.db.View(func(tx *bbolt.Tx) error { return read(boltSource{tx}) })
}

// boltSource reads a state in one transaction.
type boltSource struct{ tx *bbolt.Tx }

func (s boltSource) Buckets() iter.Seq[string] {
	return func(yield func(string) bool) {
		cursor := s.tx.Cursor()
		for name, _ := cursor.First(); name != nil; name, _ = cursor.Next() {
			if string(name) != BucketTotals && !yield(string(name)) {
				return
			}
		}
	}
}

// Each does not check the checksums: Open has checked them.
func (s boltSource) Each(bucket string) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		b := s.tx.Bucket([]byte(bucket))
		if b == nil {
			return
		}
		cursor := b.Cursor()
		for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
			if bucket == BucketMeta && string(k) == MetaTotals {
				continue
			}
			if n := len(v) - checksumBytes; !yield(k, v[:n:n]) {
				return
			}
		}
	}
}

// Add appends a batch to the queue. A batch is written completely or not at all, after all earlier
// batches. Add does not block; callers that can wait check IsFull first.
func (d *Disk) Add(batch []Entry) { d.writer.add(batch) }

// IsFull reports whether the queue is over its limit. Callers should then keep their changes and add them
// as one batch after a signal of CapacityFreed.
func (d *Disk) IsFull() bool { return d.writer.isFull() }

// CapacityFreed returns a channel that is signalled when the queue has capacity again after IsFull has
// returned true. Close closes the channel.
func (d *Disk) CapacityFreed() <-chan struct{} { return d.writer.capacityFreed }

// LastBatch returns the number of the newest batch: 0 before the first batch, increased by one with each
// batch.
func (d *Disk) LastBatch() uint64 { return d.writer.lastBatch() }

// Wait returns when all batches up to number mark are on disk. It fails if they cannot be written or ctx
// ends. mark may be LastBatch + 1 if the caller knows that the next batch will be added.
func (d *Disk) Wait(ctx context.Context, mark uint64) error { return d.writer.wait(ctx, mark) }

// Fail stops all writes. Later changes fail with err.
func (d *Disk) Fail(err error) { d.writer.finish(transaction{}, err) }

// Err returns the error for clients after the disk has failed, else nil.
func (d *Disk) Err() error { return d.writer.clientError() }

// Close writes the queued batches and releases the directory.
func (d *Disk) Close() error { return errors.Join(d.writer.close(), d.db.Close()) }

// SkipSync disables fsync for all batches whose write has not begun. It is for tests: only a power
// failure shows the difference.
func (d *Disk) SkipSync() {
	d.Intercept(func(write func([]Entry) error) func([]Entry) error {
		return func(entries []Entry) error {
			d.db.NoSync = true // set here because the goroutine that writes reads it
			return write(entries)
		}
	})
}

// Intercept replaces the write function for all batches whose write has not begun. Tests use it to
// simulate a slow or failing disk.
func (d *Disk) Intercept(around func(write func([]Entry) error) func([]Entry) error) {
	d.writer.intercept(around)
}
