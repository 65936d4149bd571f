//go:build unix

package busypoll

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Reader returns a reader of nc that polls. It returns nc where polling would not help: on a single
// CPU, and for connections that are not network connections of the operating system. The reader behaves
// like nc.Read, including deadlines, but only one goroutine at a time may use the reader.
func (g *Group) Reader(nc net.Conn) io.Reader {
	var raw syscall.RawConn
	var err error
	switch its := nc.(type) { // wrappers of these types are excluded: they may read in their own way
	case *net.TCPConn:
		raw, err = its.SyscallConn()
	case *net.UnixConn:
		raw, err = its.SyscallConn()
	}
	if g == nil || raw == nil || err != nil || runtime.GOMAXPROCS(0) < 2 {
		return nc
	}
	r := &reader{group: g, nc: nc, raw: raw}
	r.poll = r.pollOnce
	return r
}

type reader struct {
	group   *Group
	nc      net.Conn
	raw     syscall.RawConn
	backoff backoff

	// The fields below belong to the current call of Read.
	poll func(fd uintptr) bool
	buf  []byte
	n    int
	err  error
}

// Read reads the available bytes.
func (r *reader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return r.nc.Read(b)
	}
	r.buf = b
	err := r.raw.Read(r.poll)
	r.buf = nil
	r.group.lastReader.Store(r)
	switch {
	case err != nil:
		if its, ok := errors.AsType[*net.OpError](err); ok {
			err = its.Err
		}
		return 0, r.opError(err)
	case r.err != nil:
		return 0, r.opError(os.NewSyscallError("read", r.err))
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// opError wraps an error as the net package does.
func (r *reader) opError(err error) error {
	return &net.OpError{Op: "read", Net: r.nc.LocalAddr().Network(), Source: r.nc.LocalAddr(), Addr: r.nc.RemoteAddr(),
		Err: err}
}

// pollOnce reads the available bytes, and reports whether there were any. After false, the runtime
// waits for the connection and calls pollOnce again. pollOnce polls for a moment if polling may help.
func (r *reader) pollOnce(fd uintptr) bool {
	if r.read(fd) {
		return true
	}
	began := time.Now()
	if !r.wasLastToRead() || !r.backoff.shouldPoll(began) {
		return false
	}
	for now := began; r.wasLastToRead() && now.Sub(began) < pollTime; now = time.Now() {
		runtime.Gosched() // let other goroutines run first
		if r.read(fd) {
			r.backoff.record(true, now)
			return true
		}
	}
	r.backoff.record(false, time.Now())
	return false
}

// wasLastToRead reports whether this connection was the last one of the group to read.
func (r *reader) wasLastToRead() bool { return r.group.lastReader.Load() == r }

// read reads once, and reports whether it returned bytes or an error.
func (r *reader) read(fd uintptr) bool {
	for {
		r.n, r.err = syscall.Read(int(fd), r.buf)
		if !errors.Is(r.err, syscall.EINTR) {
			return !errors.Is(r.err, syscall.EAGAIN)
		}
	}
}
