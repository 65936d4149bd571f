package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// FileName is the file of a directory that holds the state.
const FileName = "mock.db"

const (
	// lockWait is how long another process may take to give the file back.
	lockWait = time.Second
	// firstBatch is how many entries of a new cluster are written at a time.
	firstBatch = 50_000
)

// Disk keeps a state in the file of a directory. Its methods may be called from
// any goroutine.
type Disk struct {
	dir    string
	db     *bbolt.DB
	writer *writer
}

// Open opens a directory, and makes it when it is missing. Only one process can
// have it open. Close gives it back.
func Open(dir string) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("dbpath: %w", err)
	}
	path := filepath.Join(dir, FileName)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockWait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
	})
	if err != nil {
		return nil, openError(dir, path, err)
	}
	d := &Disk{dir: dir, db: db}
	d.writer = newWriter(d.apply)
	return d, nil
}

// openError returns what is wrong with a file, and what can be done.
func openError(dir, path string, err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("dbpath: %s is in use by another process; stop it, or give another directory", dir)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("dbpath: %s is no state of a mock cluster: %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("dbpath: %s can't be opened for writing: %w", path, err)
	}
	return fmt.Errorf("dbpath: %s: %w", path, err)
}

// Dir returns the directory.
func (d *Disk) Dir() string { return d.dir }

// Begun reports whether the file holds a state: not when there is none, or when
// a process died before it had written all of a new one. It fails for one that
// a newer program has written.
func (d *Disk) Begun() (bool, error) {
	format := 0
	err := d.db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte(BucketMeta))
		if meta == nil {
			return nil
		}
		if v := meta.Get([]byte(MetaFormat)); len(v) == 8 {
			format = int(binary.BigEndian.Uint64(v))
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("dbpath: %w", err)
	}
	return format != 0, checkFormat("dbpath: "+d.dir, format)
}

// Begin writes all of a new state, the format last: a state without it does not
// count.
func (d *Disk) Begin(all func(emit func(Entry))) error {
	if err := d.clear(); err != nil {
		return err
	}
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

// apply writes entries in their order, all or none.
func (d *Disk) apply(entries []Entry) error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		buckets := map[string]*bbolt.Bucket{}
		for _, e := range entries {
			if err := applyEntry(tx, buckets, e); err != nil {
				return fmt.Errorf("bucket %s: %w", e.Bucket, err)
			}
		}
		return nil
	})
}

func applyEntry(tx *bbolt.Tx, buckets map[string]*bbolt.Bucket, e Entry) error {
	if e.Key == nil {
		delete(buckets, e.Bucket)
		if err := tx.DeleteBucket([]byte(e.Bucket)); !errors.Is(err, bolterrors.ErrBucketNotFound) {
			return err
		}
		return nil
	}
	b := buckets[e.Bucket]
	if b == nil {
		var err error
		if b, err = tx.CreateBucketIfNotExists([]byte(e.Bucket)); err != nil {
			return err
		}
		b.FillPercent = 0.9 // most keys grow
		buckets[e.Bucket] = b
	}
	if e.Value == nil {
		return b.Delete(e.Key)
	}
	return b.Put(e.Key, e.Value)
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
		for name, _ := cursor.First(); name != nil && yield(string(name)); name, _ = cursor.Next() {
		}
	}
}

func (s boltSource) Each(bucket string) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		b := s.tx.Bucket([]byte(bucket))
		if b == nil {
			return
		}
		cursor := b.Cursor()
		for k, v := cursor.First(); k != nil && yield(k, v); k, v = cursor.Next() {
		}
	}
}

// Add puts a batch at the end of what is to be written. It is written as a
// whole or not at all, after all that were added before it. Add does not wait:
// whoever has a choice asks Full first.
func (d *Disk) Add(batch []Entry) { d.writer.add(batch) }

// Full reports whether more waits to be written than should: then changes are
// better kept where they are, and added as one batch when Room says so.
func (d *Disk) Full() bool { return d.writer.full() }

// Room returns a channel that gets something when there is room again for who
// has found the queue full, and that Close closes.
func (d *Disk) Room() <-chan struct{} { return d.writer.room }

// Mark returns the number of the newest batch: 0 before the first, and one more
// with each.
func (d *Disk) Mark() uint64 { return d.writer.mark() }

// Wait returns when all batches up to a mark are on disk: with an error when
// they will not be, or when ctx ends first. A mark one higher than Mark is that
// of the next batch; who waits for it knows that it will be added.
func (d *Disk) Wait(ctx context.Context, mark uint64) error { return d.writer.wait(ctx, mark) }

// Fail lets nothing be written any more: who changes something hears of err.
func (d *Disk) Fail(err error) { d.writer.done(transaction{}, err) }

// Err returns what clients hear since the disk has failed; nil when it has not.
func (d *Disk) Err() error { return d.writer.failed() }

// Close writes what has been added and returns the directory back.
func (d *Disk) Close() error { return errors.Join(d.writer.close(), d.db.Close()) }

// SkipSync leaves out what only a machine that loses its power would miss. It
// is for tests.
func (d *Disk) SkipSync() { d.db.NoSync = true }

// Intercept lets around decide how batches are written that have not been taken
// to be written yet. It is for tests: of a disk that is slow, or fails.
func (d *Disk) Intercept(around func(write func([]Entry) error) func([]Entry) error) {
	d.writer.intercept(around)
}
