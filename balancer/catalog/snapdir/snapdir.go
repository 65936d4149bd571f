package snapdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
)

// fileNameLayout is the layout of file names, with the time of the snapshot: 2026-03-02T120000Z.snap.
const fileNameLayout = "2006-01-02T150405Z.snap"

// File is a snapshot in a directory.
type File struct {
	Path string
	Time time.Time
}

// ErrEmpty says that a directory has no snapshots.
var ErrEmpty = errors.New("no snapshots (shardsh snapshot --into DIR keeps some)")

// List returns the snapshots in a directory, the oldest first. It ignores other files.
func List(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []File
	for _, e := range entries {
		if at, err := time.Parse(fileNameLayout, e.Name()); err == nil && e.Type().IsRegular() &&
			e.Name() == at.Format(fileNameLayout) {
			list = append(list, File{filepath.Join(dir, e.Name()), at})
		}
	}
	slices.SortFunc(list, func(a, b File) int { return a.Time.Compare(b.Time) })
	return list, nil
}

// listNonEmpty lists a directory that must have a snapshot.
func listNonEmpty(dir string) ([]File, error) {
	list, err := List(dir)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: %w", dir, ErrEmpty)
	}
	return list, err
}

// Newest returns the newest snapshot.
func Newest(dir string) (File, error) {
	list, err := listNonEmpty(dir)
	if err != nil {
		return File{}, err
	}
	return list[len(list)-1], nil
}

// NewestBefore returns the newest snapshot that is not newer than a time. If there is none, it returns
// the oldest snapshot and false.
func NewestBefore(dir string, at time.Time) (File, bool, error) {
	list, err := listNonEmpty(dir)
	if err != nil {
		return File{}, false, err
	}
	i := slices.IndexFunc(list, func(f File) bool { return f.Time.After(at) })
	switch i {
	case 0:
		return list[0], false, nil
	case -1:
		i = len(list)
	}
	return list[i-1], true, nil
}

// OtherClusterError says that a directory contains snapshots of another cluster.
type OtherClusterError struct{ Dir string }

func (e *OtherClusterError) Error() string {
	return e.Dir + " keeps snapshots of another cluster: use a directory for each"
}

// SaveAndPrune writes a snapshot into a directory, which it creates if necessary. It then removes snapshots
// that are more than keep older than this one; 0 keeps all. It returns the new file and the removed
// files.
func SaveAndPrune(dir string, s *catalog.Snapshot, keep time.Duration) (saved File, removed []File, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return File{}, nil, err
	}
	if err := checkSameCluster(dir, s); err != nil {
		return File{}, nil, err
	}
	at := s.Time().UTC().Truncate(time.Second)
	saved = File{filepath.Join(dir, at.Format(fileNameLayout)), at}
	if err := snapfile.Save(saved.Path, s); err != nil {
		return File{}, nil, err
	}
	if keep > 0 {
		removed, err = prune(dir, at.Add(-keep))
	}
	return saved, removed, err
}

// checkSameCluster returns an error if the newest snapshot in the directory is of another cluster. A
// file that can't be read is ignored.
func checkSameCluster(dir string, s *catalog.Snapshot) error {
	newest, err := Newest(dir)
	if errors.Is(err, ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	kept, err := snapfile.Open(newest.Path, snapfile.Limits{})
	if err != nil {
		return nil //nolint:nilerr // the new one is still worth keeping
	}
	was, is := kept.Parts().ClusterID, s.Parts().ClusterID
	if was != is && !was.IsZero() && !is.IsZero() {
		return &OtherClusterError{dir}
	}
	return nil
}

// prune removes the snapshots before a time, but never the newest snapshot.
func prune(dir string, before time.Time) (removed []File, err error) {
	list, err := List(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range list[:max(len(list)-1, 0)] {
		if !f.Time.Before(before) {
			break
		}
		if e := os.Remove(f.Path); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = cmp.Or(err, e)
			continue
		}
		removed = append(removed, f)
	}
	return removed, err
}
