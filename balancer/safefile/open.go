// Package safefile reads files that somebody else may have made: none of them
// takes more memory than it may, and none keeps the program waiting for ever. It
// also writes files as a whole, and puts none in the place of what is not a file.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrNotFile says that a name is not that of a file: of a device, a directory, a
// socket, or a pipe where one can't be read.
var ErrNotFile = errors.New("it is not a regular file")

// ErrTooLong says that a file is longer than it may be.
var ErrTooLong = errors.New("it is too long")

// Special reports whether there is something at a path that is not a regular file,
// such as /dev/null or a pipe: that can be written to, and must not be replaced.
func Special(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// Open opens a regular file. It does not so much as open anything else, which
// may block or do something.
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

// Read reads a file, or a pipe such as a shell makes of <(…), of at most so many
// bytes. A pipe has so much time until its end.
func Read(path string, most int64, patience time.Duration) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		return read(path, most)
	case info.Mode()&fs.ModeNamedPipe == 0:
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // stays behind when nobody ever writes
		data, err := read(path, most)
		done <- result{data, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.data, r.err
	case <-timer.C:
		err := errors.New("it is a pipe, and nobody has written all of it yet")
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
}

func read(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLong, most)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
