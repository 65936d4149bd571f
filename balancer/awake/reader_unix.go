//go:build unix

package awake

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Reader returns a reader of nc, which is nc itself where there is nothing to be gained:
// with a single CPU, and for connections that are not the system's own. What holds for
// nc's Read, deadlines too, holds for the reader's, but that one at a time may read.
func (l *Lookout) Reader(nc net.Conn) io.Reader {
	var raw syscall.RawConn
	var err error
	switch its := nc.(type) { // and nothing around them, which may read in a way of its own
	case *net.TCPConn:
		raw, err = its.SyscallConn()
	case *net.UnixConn:
		raw, err = its.SyscallConn()
	}
	if l == nil || raw == nil || err != nil || runtime.GOMAXPROCS(0) < 2 {
		return nc
	}
	r := &reader{lookout: l, nc: nc, raw: raw}
	r.look = r.lookFor
	return r
}

type reader struct {
	lookout *Lookout
	nc      net.Conn
	raw     syscall.RawConn
	habit   habit

	// Of the read that goes on.
	look func(fd uintptr) bool
	into []byte
	n    int
	err  error
}

// Read reads what is there.
func (r *reader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return r.nc.Read(b)
	}
	r.into = b
	err := r.raw.Read(r.look)
	r.into = nil
	r.lookout.last.Store(r)
	switch {
	case err != nil:
		var its *net.OpError
		if errors.As(err, &its) {
			err = its.Err
		}
		return 0, r.failed(err)
	case r.err != nil:
		return 0, r.failed(os.NewSyscallError("read", r.err))
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// failed is an error as connections have them.
func (r *reader) failed(err error) error {
	return &net.OpError{Op: "read", Net: r.nc.LocalAddr().Network(), Source: r.nc.LocalAddr(), Addr: r.nc.RemoteAddr(),
		Err: err}
}

// lookFor reads what is there, and reports whether there was something: false has the
// runtime wait, and call again. It looks for a moment if that may help.
func (r *reader) lookFor(fd uintptr) bool {
	if r.read(fd) {
		return true
	}
	began := time.Now()
	if !r.alone() || !r.habit.looks(began) {
		return false
	}
	for now := began; r.alone() && now.Sub(began) < patience; now = time.Now() {
		runtime.Gosched() // others come first
		if r.read(fd) {
			r.habit.tried(true, now)
			return true
		}
	}
	r.habit.tried(false, time.Now())
	return false
}

// alone reports whether no other connection has been read from since this one was.
func (r *reader) alone() bool { return r.lookout.last.Load() == r }

// read reports whether there was something to read, or an error.
func (r *reader) read(fd uintptr) bool {
	for {
		r.n, r.err = syscall.Read(int(fd), r.into)
		if !errors.Is(r.err, syscall.EINTR) {
			return !errors.Is(r.err, syscall.EAGAIN)
		}
	}
}
