package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// verifyAndUpgrade checks the file of a directory before it is used and reports whether it holds a state. It
// upgrades a file without checksums.
func (d *Disk) verifyAndUpgrade() (hasState bool, err error) {
	upgraded := d.path + newSuffix
	old := false
	err = withFile(d.dir, d.path, func(file *os.File) error {
		hasState = true
		found, err := inspect(file, func(Entry) {})
		if err != nil {
			return err
		}
		if err := checkFormat("it", found.format, FormatVersion); err != nil {
			return err
		}
		if err := found.damageError(); err != nil || found.format == FormatVersion {
			return err
		}
		old = true
		return upgrade(file, upgraded)
	})
	if err == nil && old {
		err = renameDurably(upgraded, d.path)
	}
	return hasState, err
}

// ErrEmpty is the error for an empty file.
var ErrEmpty = errors.New("is empty: the cluster in it is lost")

// remedy says what to do about an unusable file.
const remedy = "put back a copy of the file, or remove it to begin a new cluster"

// withFile calls read with the directory's file while other processes cannot write it. It does nothing
// if the directory holds no state yet.
func withFile(dir, path string, read func(*os.File) error) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("dbpath: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("dbpath: %s is not a file", path)
	case info.Size() == 0:
		return fmt.Errorf("dbpath: %s %w; %s", path, ErrEmpty, remedy)
	}
	unlock, err := lock(path)
	if err == nil {
		defer unlock()
		var file *os.File
		if file, err = os.Open(path); err == nil {
			defer file.Close()
			err = read(file)
		}
	}
	if err != nil {
		return openError(dir, path, err)
	}
	return nil
}

// lock prevents other processes from writing a file. It uses the library's lock, for which the library
// reads only the first two pages.
func lock(path string) (unlock func(), err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return func() { _ = db.Close() }, nil
}

// upgrade rewrites the file of an older program in the current format.
func upgrade(file *os.File, path string) error {
	return writeFile(path, func(emit func(Entry)) error {
		_, err := inspect(file, func(e Entry) {
			if e.Bucket != BucketMeta || string(e.Key) != MetaFormat {
				emit(e)
			}
		})
		return err
	})
}

// writeFile writes a whole state to a new file.
func writeFile(path string, all func(emit func(Entry)) error) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := openBolt(path)
	if err != nil {
		return err
	}
	d := &Disk{path: path, db: db}
	var failed error
	err = errors.Join(d.writeAll(func(emit func(Entry)) { failed = all(emit) }), db.Close())
	if err = errors.Join(failed, err); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// renameDurably renames a file durably.
func renameDurably(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	_ = dir.Sync() // not supported on every system
	return dir.Close()
}
