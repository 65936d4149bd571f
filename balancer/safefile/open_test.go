//go:build unix

package safefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shardsh/balancer/safefile"
)

// pipe makes a named pipe.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenTakesFilesOnly(t *testing.T) {
	for _, path := range []string{"/dev/zero", t.TempDir(), pipe(t)} {
		if _, err := safefile.Open(path); !errors.Is(err, safefile.ErrNotFile) {
			t.Errorf("%s: %v", path, err)
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := safefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := safefile.Read(path, 100, time.Minute); err != nil || len(data) != 100 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := safefile.Read(path, 99, time.Minute); !errors.Is(err, safefile.ErrTooLong) {
		t.Errorf("a byte too much: %v", err)
	}
	if _, err := safefile.Read("/dev/zero", 99, time.Minute); !errors.Is(err, safefile.ErrNotFile) {
		t.Errorf("a device: %v", err)
	}
	if _, err := safefile.Read(pipe(t), 99, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("a pipe that nobody writes: %v", err)
	}
	written := pipe(t)
	go func() { _ = os.WriteFile(written, []byte(strings.Repeat("x", 100)), 0o600) }()
	if data, err := safefile.Read(written, 100, time.Minute); err != nil || len(data) != 100 {
		t.Errorf("a pipe: %d bytes, %v", len(data), err)
	}
	endless := pipe(t)
	go func() { // until its reader has gone
		f, err := os.OpenFile(endless, os.O_WRONLY, 0)
		for err == nil {
			_, err = f.Write(make([]byte, 1<<16))
		}
	}()
	if _, err := safefile.Read(endless, 1<<20, time.Minute); !errors.Is(err, safefile.ErrTooLong) {
		t.Errorf("a pipe without end: %v", err)
	}
}

func TestSpecial(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/dev/null": true, pipe(t): true, dir: true, file: false, filepath.Join(dir, "missing"): false,
	} {
		if safefile.IsSpecial(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
