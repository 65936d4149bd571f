package mock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mongoerr"
)

// What can't be opened says why and where, and changes nothing.
func TestDiskRefuses(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	c, err := New(Config{DBPath: dir, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := filepath.Join(dir, "snapshot")
	if err := c.Save(snapshot); err != nil {
		t.Fatal(err)
	}
	refused(t, Config{DBPath: dir}, "in use by another process", dir)
	c.Close()
	if _, err := New(Config{DBPath: dir, Topology: DefaultTopology(2)}); !errors.Is(err, ErrHoldsCluster) {
		t.Errorf("a topology for a cluster that is there: %v", err)
	}
	if _, err := New(Config{DBPath: dir, Snapshot: snapshot}); !errors.Is(err, ErrHoldsCluster) {
		t.Errorf("a snapshot for a cluster that is there: %v", err)
	}
	// After the refusal of a version, the directory is not locked.
	refused(t, Config{DBPath: dir, FCV: "1.0"}, "feature compatibility version")
	if c, err = New(Config{DBPath: dir}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	refused(t, Config{DBPath: filepath.Join(snapshot, "below")}, "dbpath", "not a directory")

	text := filepath.Join(t.TempDir(), disk.FileName)
	if err := os.WriteFile(text, []byte(strings.Repeat("this is not a database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, Config{DBPath: filepath.Dir(text)}, "does not contain the state of a mock cluster", text)
	refused(t, Config{Snapshot: text}, "not a snapshot of a mock cluster", text)
	refused(t, Config{Snapshot: filepath.Join(dir, "nothing")}, "no such file", "nothing")

	whole, err := os.ReadFile(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half")
	if err := os.WriteFile(half, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, Config{Snapshot: half}, "damaged", half)
}

// A state of a format to come is left alone.
func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	c, err := New(Config{DBPath: dir})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	d, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	format := disk.NumberKey(disk.FormatVersion + 1)
	d.Add([]disk.Entry{{Bucket: disk.BucketMeta, Key: []byte(disk.MetaFormat), Value: format}})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, Config{DBPath: dir}, "written by a newer shardsh", dir)
}

// A process that dies while it writes a new cluster leaves nothing that counts.
func TestUnfinishedBeginning(t *testing.T) {
	dir := t.TempDir()
	d, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.Add([]disk.Entry{{Bucket: disk.BucketShards, Key: disk.NumberKey(1), Value: mustEncode(disk.Shard{ID: "half"})}})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{DBPath: dir, Topology: DefaultTopology(2)})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.ShardCount(); n != 2 {
		t.Errorf("%d shards, want 2", n)
	}
	c.Close()
	if c, err = New(Config{DBPath: dir}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n := c.ShardCount(); n != 2 {
		t.Errorf("%d shards after a restart, want 2", n)
	}
}

// When the disk is full, clients are told so, however the library says it.
func TestDiskIsFull(t *testing.T) {
	for _, full := range []error{
		&os.PathError{Op: "write", Path: "mock.db", Err: syscall.ENOSPC},
		errors.New("file resize error: " + (&os.PathError{Op: "truncate", Path: "mock.db", Err: syscall.EFBIG}).Error()),
	} {
		c, err := New(Config{DBPath: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		c.storage.disk.file.Intercept(func(func([]disk.Entry) error) func([]disk.Entry) error {
			return func([]disk.Entry) error { return full }
		})
		c.clock.Lock()
		if err := c.BackgroundRequest().CreateDatabase("db", ""); err != nil {
			t.Fatal(err)
		}
		written := c.Storage().StartFlush()
		c.clock.Unlock()
		for _, err := range []error{written(t.Context()), c.Storage().Err()} {
			if !mongoerr.Is(err, mongoerr.OutOfDiskSpace) {
				t.Errorf("a full disk is %v", err)
			}
		}
		c.Close()
	}
}

// When the disk fails, every command from then on is told so: what is in
// memory is not kept any more.
func TestDiskFails(t *testing.T) {
	c, err := New(Config{DBPath: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.storage.disk.file.Intercept(func(func([]disk.Entry) error) func([]disk.Entry) error {
		return func([]disk.Entry) error { return errors.New("the disk is gone") }
	})
	for range 2 {
		c.clock.Lock()
		if err := c.BackgroundRequest().CreateDatabase("db", ""); err != nil {
			t.Fatal(err)
		}
		written := c.Storage().StartFlush()
		c.clock.Unlock()
		if err := written(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("a write that was not kept answered %v", err)
		}
	}
}

func refused(t *testing.T, cfg Config, words ...string) {
	t.Helper()
	c, err := New(cfg)
	if err == nil {
		c.Close()
		t.Fatalf("%+v was accepted", cfg)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}
