// Package metadata reads the metadata of a cluster from files, and configures mock clusters with it.
package metadata

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/dumpfile"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/mock"
	"shardsh/balancer/safefile"
	"shardsh/cmd/shardsh/cmdline"
)

// Open reads the metadata of a cluster from a file that "shardsh snapshot" has written, or from a
// directory with mongodump's copy of the config database.
func Open(path string) (*catalog.Snapshot, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return dumpfile.Open(path)
	}
	s, err := snapfile.Open(path, snapfile.Limits{})
	if errors.Is(err, snapfile.ErrNotSnapshot) {
		return nil, fmt.Errorf("%w%s", err, suggestInstead(path))
	}
	return s, err
}

// archiveMagic is the beginning of a mongodump archive.
const archiveMagic = "\x6d\xe2\x99\x81"

// suggestInstead returns a suggestion for a file of another kind.
func suggestInstead(path string) string {
	switch start := readMagic(path); {
	case start == archiveMagic:
		return ": mongodump archives can't be read, directories can: mongodump --db config --out DIR"
	case strings.HasPrefix(start, gzipMagic):
		return ": --snapshot takes those of mock.save(); a mongodump has to be a directory, not an archive"
	case strings.HasSuffix(path, ".bson") || strings.HasSuffix(path, ".metadata.json"):
		return ": of a mongodump, name the directory, " + filepath.Dir(path)
	}
	return ""
}

// OpenWithSizes works like Open, with the sizes from a file that holds the output of
// $shardedDataDistribution. If sizes is empty, the sizes are those of the first file.
func OpenWithSizes(path, sizes string) (*catalog.Snapshot, error) {
	s, err := Open(path)
	if err != nil || sizes == "" {
		return s, err
	}
	of, err := dumpfile.OpenSizes(sizes)
	if err != nil {
		return nil, err
	}
	return of.ApplyTo(s), nil
}

// ConfigureMock configures a mock to start as the cluster in a file. A file of mock.save() is continued;
// from a file with metadata, the mock is built. It returns the metadata of the mock.
func ConfigureMock(cfg *mock.Config, path string) (*catalog.Snapshot, error) {
	if path == "" {
		return nil, nil
	}
	s, err := Open(path)
	switch {
	case errors.Is(err, snapfile.ErrNotSnapshot) && strings.HasPrefix(readMagic(path), gzipMagic):
		cfg.Snapshot = path
		return nil, nil
	case errors.Is(err, snapfile.ErrNotSnapshot):
		return nil, cmdline.Usagef("--snapshot: %s is not a file of shardsh snapshot or mock.save()%s", path,
			suggestInstead(path))
	case err != nil:
		return nil, cmdline.Usagef("--snapshot: %w", err)
	}
	cfg.Metadata = s
	return s, nil
}

// gzipMagic is the beginning of a gzipped file, such as one of mock.save().
const gzipMagic = "\x1f\x8b"

// readMagic returns the first bytes of a file; empty if it can't be read.
func readMagic(path string) string {
	f, err := safefile.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	start := make([]byte, len(archiveMagic))
	n, _ := io.ReadFull(f, start) // a short file is sufficient
	return string(start[:n])
}

// UseClusterTime makes a mock that would use the wall clock continue from the cluster's own time at the
// pace of the wall clock. It reports whether it did so.
func UseClusterTime(cfg *mock.Config) bool {
	if cfg.Metadata == nil || !cfg.RealTime {
		return false
	}
	cfg.RealTime, cfg.ClockSpeed = false, 1
	return true
}

// MockName returns the banner's text for a mock of a recorded cluster.
func MockName(s *catalog.Snapshot) string {
	return fmt.Sprintf("mock of %s (%s)", filepath.Base(s.Parts().Source.Name),
		s.Time().UTC().Format(time.DateTime+" UTC"))
}

// MissingData lists the data that a mock built from metadata lacks.
func MissingData(s *catalog.Snapshot) (list []string) {
	for _, c := range s.Collections() {
		if c.Table == nil {
			list = append(list, fmt.Sprintf("%s is missing: the file does not have its chunks", c.Namespace))
			continue
		}
		silent := 0
		for _, id := range c.Table.Owners() {
			if _, known := c.Sizes[id]; !known {
				silent++
			}
		}
		if silent > 0 {
			list = append(list, fmt.Sprintf("sizes of %s are not known on %d shards: chunks there are assumed to be half full",
				c.Namespace, silent))
		}
	}
	return list
}
