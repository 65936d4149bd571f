package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// fileSink writes each entry as one line of JSON.
type fileSink struct {
	mu   sync.Mutex
	out  *os.File
	torn bool // the last line is incomplete
}

// openFile opens a file for appending. A new file is readable only by its owner.
func openFile(path string) (Sink, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s := &fileSink{out: f}
	if err := s.check(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // some systems cannot sync a directory
		_ = dir.Close()
	}
	return s, nil
}

// check returns an error for files that are not regular files, and for files that any user may write.
func (s *fileSink) check() error {
	info, err := s.out.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", s.out.Name())
	case info.Mode().Perm()&0o022 != 0 && os.PathSeparator == '/':
		return fmt.Errorf("%s can be written by others: chmod go-w %[1]s, or name another file", s.out.Name())
	}
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := s.out.ReadAt(last, size-1); err != nil {
			return err
		}
		s.torn = last[0] != '\n'
	}
	return nil
}

// Write appends the entry to the file and syncs the file.
func (s *fileSink) Write(_ context.Context, e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.torn {
		line = append([]byte("\n"), line...)
	}
	s.torn = true
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		return err
	}
	s.torn = false
	return s.out.Sync()
}

// Close closes the file.
func (s *fileSink) Close() error { return s.out.Close() }

// ReadFile returns the entries of a file, and the number of incomplete lines, which processes leave
// that are killed while they write.
func ReadFile(path string) (entries []Entry, torn int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // the file was opened for reading only
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var e Entry
			if json.Unmarshal(line, &e) == nil && e.ID != "" {
				entries = append(entries, e)
			} else {
				torn++
			}
		}
		if errors.Is(err, io.EOF) {
			return entries, torn, nil
		}
		if err != nil {
			return entries, torn, err
		}
	}
}
