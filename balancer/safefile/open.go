// Package safefile reads files that other users may have created, with a limit on their size and on the
// time to read a pipe. It also writes files atomically, and does not replace special files.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrNotFile says that a path is not a regular file but a device, a directory, a socket, or a pipe
// where a pipe can't be read.
var ErrNotFile = errors.New("it is not a regular file")

// ErrTooLong says that a file exceeds the maximum length.
var ErrTooLong = errors.New("it is too long")

// IsSpecial reports whether a path exists and is not a regular file, such as /dev/null or a pipe. Callers
// can write to it, but must not replace it.
func IsSpecial(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// Open opens a regular file. It does not open special files, because that may block or have side
// effects.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	return os.Open(path)
}

// Read reads a file or a pipe, such as the one of a shell's <(…), of no more than maxBytes. A pipe
// has to end within timeout.
func Read(path string, maxBytes int64, timeout time.Duration) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		return read(path, maxBytes)
	case info.Mode()&fs.ModeNamedPipe == 0:
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // this goroutine leaks if the pipe never gets a writer
		data, err := read(path, maxBytes)
		done <- result{data, err}
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.data, r.err
	case <-timer.C:
		err := errors.New("it is a pipe, and its writer has not finished yet")
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
}

func read(path string, maxBytes int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(data)) > maxBytes {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLong, maxBytes)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
