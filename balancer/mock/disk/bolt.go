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

// FileName is the file of a directory that holds the state.
const FileName = "mock.db"

// newSuffix follows FileName in the name of a state that is being written.
const newSuffix = ".new"

const (
	// lockWait is how long another process may take to give the file back.
	lockWait = time.Second
	// firstBatch is how many entries of a new cluster are written at a time.
	firstBatch = 50_000
)

// Disk keeps a state in the file of a directory. Its methods may be called from
// any goroutine.
type Disk struct {
	dir      string
	path     string // of the file, which has another name until it holds a state
	hasState bool
	db       *bbolt.DB
	writer   *writer
}

// Open opens a directory, and makes it when it is missing. Only one process can
// have it open. A file that is not as it was written is refused. Close gives
// the directory back.
func Open(dir string) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("dbpath: %w", err)
	}
	d := &Disk{dir: dir, path: filepath.Join(dir, FileName)}
	begun, err := d.verifyFile()
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

// openError returns what is wrong with a file, and what can be done.
func openError(dir, path string, err error) error {
	var damage *DamageError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("dbpath: %s is in use by another process; stop it, or give another directory", dir)
	case errors.Is(err, errNoState), errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("dbpath: %s is not the state of a mock cluster: %w", path, err)
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

// WriteInitialState writes all of a new state. The file gets its name when it is whole: one
// that a process has not ended does not count.
func (d *Disk) WriteInitialState(all func(emit func(Entry))) error {
	if err := errors.Join(d.clear(), d.writeAll(all), d.db.Close()); err != nil {
		return err
	}
	path := filepath.Join(d.dir, FileName)
	if err := replace(d.path, path); err != nil {
		return err
	}
	d.path, d.hasState = path, true
	var err error
	if d.db, err = openBolt(path); err != nil {
		return openError(d.dir, path, err)
	}
	return nil
}

// writeAll writes a whole state, the format last.
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
		if pending = append(pending, e); len(pending) == firstBatch {
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

// apply writes entries in their order, all or none. That a page has become
// unreadable since the file was opened is an error as others are.
func (d *Disk) apply(entries []Entry) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s can't be read any more: %v", d.path, p)
		}
	}()
	return d.db.Update(func(tx *bbolt.Tx) error { return write(tx, entries) })
}

// Read lets a reader see what is written, at one moment.
func (d *Disk) Read(read func(Source) error) error {
	return d.db.View(func(tx *bbolt.Tx) error { return read(boltSource{tx}) })
}

// boltSource reads a state in one transaction.
type boltSource struct{ tx *bbolt.Tx }

func (s boltSource) Buckets() iter.Seq[string] {
	return func(yield func(string) bool) {
		cursor := s.tx.Cursor()
		for name, _ := cursor.First(); name != nil; name, _ = cursor.Next() {
			if string(name) != BucketSums && !yield(string(name)) {
				return
			}
		}
	}
}

// Each leaves the checksums away: they have been looked at when the file was
// opened.
func (s boltSource) Each(bucket string) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		b := s.tx.Bucket([]byte(bucket))
		if b == nil {
			return
		}
		cursor := b.Cursor()
		for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
			if bucket == BucketMeta && string(k) == MetaSums {
				continue
			}
			if n := len(v) - checksumBytes; !yield(k, v[:n:n]) {
				return
			}
		}
	}
}

// Add puts a batch at the end of what is to be written. It is written as a
// whole or not at all, after all that were added before it. Add does not wait:
// whoever has a choice asks Full first.
func (d *Disk) Add(batch []Entry) { d.writer.add(batch) }

// Full reports whether more waits to be written than should: then changes are
// better kept where they are, and added as one batch when CapacityFreed says so.
func (d *Disk) Full() bool { return d.writer.isFull() }

// CapacityFreed returns a channel that is signalled when the queue has capacity again for a caller that
// has found it full, and that Close closes.
func (d *Disk) CapacityFreed() <-chan struct{} { return d.writer.capacityFreed }

// LastBatch returns the number of the newest batch: 0 before the first, and one more
// with each.
func (d *Disk) LastBatch() uint64 { return d.writer.lastBatch() }

// Wait returns when all batches up to a mark are on disk: with an error when
// they will not be, or when ctx ends first. A mark one higher than LastBatch is that
// of the next batch; who waits for it knows that it will be added.
func (d *Disk) Wait(ctx context.Context, mark uint64) error { return d.writer.wait(ctx, mark) }

// Fail stops all writes: later changes fail with err.
func (d *Disk) Fail(err error) { d.writer.finish(transaction{}, err) }

// Err returns the error for clients once the disk has failed; nil before.
func (d *Disk) Err() error { return d.writer.clientError() }

// Close writes what has been added and returns the directory back.
func (d *Disk) Close() error { return errors.Join(d.writer.close(), d.db.Close()) }

// SkipSync leaves out what only a machine that loses its power would miss, of
// batches that have not been taken to be written yet. It is for tests.
func (d *Disk) SkipSync() {
	d.Intercept(func(write func([]Entry) error) func([]Entry) error {
		return func(entries []Entry) error {
			d.db.NoSync = true // here, as who writes looks at it
			return write(entries)
		}
	})
}

// Intercept lets around decide how batches are written that have not been taken
// to be written yet. It is for tests: of a disk that is slow, or fails.
func (d *Disk) Intercept(around func(write func([]Entry) error) func([]Entry) error) {
	d.writer.intercept(around)
}
