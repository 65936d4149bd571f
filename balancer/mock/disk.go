package mock

import (
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

// ErrHoldsCluster says that a directory has a cluster already where a new one
// was to be made.
var ErrHoldsCluster = errors.New("the directory holds a cluster already")

const (
	diskFile = "mock.db"
	// lockWait is how long another process may take to give the file back.
	lockWait = time.Second
	// firstBatch is how many entries of a new cluster are written at a time.
	firstBatch = 50_000
)

// disk keeps the state of a cluster in a file.
type disk struct {
	dir     string
	db      *bbolt.DB
	tracker *tracker
	writer  *writer
	// batched looks at what is handed over; nil outside of tests.
	batched func([]entry)
}

// openDisk opens a directory, and makes it when it is missing. Only one
// process can have it open.
func openDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("dbpath: %w", err)
	}
	path := filepath.Join(dir, diskFile)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockWait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("dbpath: %s is in use by another process; stop it, or give another directory", dir)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("dbpath: %s is no state of a mock cluster: %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("dbpath: %s can't be opened for writing: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("dbpath: %s: %w", path, err)
	}
	return &disk{dir: dir, db: db, tracker: newTracker(false)}, nil
}

// format is that of the state in the file; 0 when there is none, or when a
// process died before it had written all of a new one.
func (d *disk) format() (int, error) {
	format := 0
	err := d.db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte(bucketMeta))
		if meta == nil {
			return nil
		}
		if v := meta.Get([]byte(metaFormat)); len(v) == 8 {
			format = int(binary.BigEndian.Uint64(v))
		}
		return nil
	})
	return format, err
}

func checkFormat(what string, format int) error {
	if format > formatVersion {
		return fmt.Errorf("%s was written by a newer shardsh: it has format %d, this one reads up to %d", what, format, formatVersion)
	}
	return nil
}

// begin writes all of a new cluster, the format last: a state without it does
// not count.
func (d *disk) begin(c *Cluster) error {
	if err := d.clear(); err != nil {
		return err
	}
	var pending []entry
	var failed error
	flush := func() {
		if failed == nil {
			failed = d.apply(pending)
		}
		pending = pending[:0]
	}
	d.tracker.capture(c, true, func(e entry) {
		if pending = append(pending, e); len(pending) == firstBatch {
			flush()
		}
	})
	pending = append(pending, entry{bucketMeta, []byte(metaFormat), numberKey(formatVersion)})
	flush()
	return failed
}

func (d *disk) clear() error {
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
func (d *disk) apply(entries []entry) error {
	return d.db.Update(func(tx *bbolt.Tx) error {
		buckets := map[string]*bbolt.Bucket{}
		for _, e := range entries {
			if err := applyEntry(tx, buckets, e); err != nil {
				return fmt.Errorf("bucket %s: %w", e.bucket, err)
			}
		}
		return nil
	})
}

func applyEntry(tx *bbolt.Tx, buckets map[string]*bbolt.Bucket, e entry) error {
	if e.key == nil {
		delete(buckets, e.bucket)
		if err := tx.DeleteBucket([]byte(e.bucket)); !errors.Is(err, bolterrors.ErrBucketNotFound) {
			return err
		}
		return nil
	}
	b := buckets[e.bucket]
	if b == nil {
		var err error
		if b, err = tx.CreateBucketIfNotExists([]byte(e.bucket)); err != nil {
			return err
		}
		b.FillPercent = 0.9 // most keys grow
		buckets[e.bucket] = b
	}
	if e.value == nil {
		return b.Delete(e.key)
	}
	return b.Put(e.key, e.value)
}

// boltSource reads a state in one transaction.
type boltSource struct{ tx *bbolt.Tx }

func (s boltSource) each(bucket string) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		b := s.tx.Bucket([]byte(bucket))
		if b == nil {
			return
		}
		cursor := b.Cursor()
		for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
			if !yield(k, v) {
				return
			}
		}
	}
}

// capture hands what has changed over to be written. The caller holds the
// cluster's lock.
func (d *disk) capture(c *Cluster, force bool) {
	var entries []entry
	if !d.tracker.capture(c, force, func(e entry) { entries = append(entries, e) }) {
		return
	}
	if d.batched != nil {
		d.batched(entries)
	}
	d.writer.add(entries)
}

// close writes what is left and gives the directory back.
func (d *disk) close() error {
	var err error
	if d.writer != nil {
		err = d.writer.close()
	}
	return errors.Join(err, d.db.Close())
}
