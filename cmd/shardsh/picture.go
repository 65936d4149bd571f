package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/foreign"
	"shardsh/balancer/mock"
)

// openFile reads the metadata of a cluster in a file: what shardsh snapshot
// writes.
func openFile(path string) (*catalog.Snapshot, error) {
	return snapfile.Open(path, snapfile.Limits{})
}

// beginWith has a mock begin as the cluster in a file was: one that mock.save()
// wrote goes on, one of which the file has the metadata is played. It returns what
// the mock plays.
func beginWith(cfg *mock.Config, path string) (*catalog.Snapshot, error) {
	if path == "" {
		return nil, nil
	}
	s, err := openFile(path)
	switch {
	case errors.Is(err, snapfile.ErrNotSnapshot) && isGzip(path):
		cfg.Snapshot = path
		return nil, nil
	case errors.Is(err, snapfile.ErrNotSnapshot):
		return nil, usagef("--snapshot: %s is neither what shardsh snapshot writes nor what mock.save() does", path)
	case err != nil:
		return nil, usageError{fmt.Errorf("--snapshot: %w", err)}
	}
	cfg.Picture = s
	return s, nil
}

// isGzip reports whether a file is one, as those of mock.save() are. One that can't
// be read is for the mock to complain of.
func isGzip(path string) bool {
	f, err := foreign.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	var start [2]byte
	_, err = io.ReadFull(f, start[:])
	return err == nil && start == [2]byte{0x1f, 0x8b}
}

// ownTime lets a cluster that is played go on from its own time at the pace of the
// clock on the wall, where time would be that of the wall.
func ownTime(cfg *mock.Config) {
	if cfg.Picture != nil && cfg.RealTime {
		cfg.RealTime, cfg.Pace = false, 1
	}
}

// pictureName is what the banner says of a cluster that is played.
func pictureName(s *catalog.Snapshot) string {
	return fmt.Sprintf("mock of %s (%s)", filepath.Base(s.Parts().Source.Name),
		s.Time().UTC().Format(time.DateTime+" UTC"))
}

// lacks says what a mock that plays a cluster had no way to have.
func lacks(s *catalog.Snapshot) (list []string) {
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
			list = append(list, fmt.Sprintf("the sizes of %s are not known on %d shards: chunks there are taken to be half full",
				c.Namespace, silent))
		}
	}
	return list
}
