package line_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// faulty dials connections on which a ping goes wrong, once.
type faulty struct {
	next atomic.Pointer[fault]
	// waits is called when somebody begins to wait for nothing.
	waits func()
}

// fault is what goes wrong with a ping.
type fault struct {
	write func(c *faultyConn, b []byte) (int, error) // in place of writing it
	reads []read                                     // one after the other; then all is well
}

// read is so many bytes of what the server sends, or what it has not sent, or an error,
// or nothing, until a deadline passes or the connection is closed.
type read struct {
	bytes  int
	other  string
	err    error
	silent bool
}

func (f *faulty) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	nobody, _ := net.Pipe()
	return &faultyConn{Conn: nc, nobody: nobody, faulty: f}, nil
}

type faultyConn struct {
	net.Conn
	faulty *faulty
	nobody net.Conn // has a peer that neither reads nor writes
	reads  []read
}

func (c *faultyConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\x10ping\x00")) {
		if f := c.faulty.next.Swap(nil); f != nil {
			if c.reads = slices.Clone(f.reads); f.write != nil {
				return f.write(c, b)
			}
		}
	}
	return c.Conn.Write(b)
}

// stuck writes to nobody, until a deadline passes or the connection is closed.
func stuck(c *faultyConn, b []byte) (int, error) {
	c.faulty.waits()
	return c.nobody.Write(b)
}

func (c *faultyConn) Read(b []byte) (n int, err error) {
	for len(c.reads) > 0 {
		r := &c.reads[0]
		switch {
		case r.bytes > 0:
			n, err = c.Conn.Read(b[:min(r.bytes, len(b))])
			r.bytes -= n
			return n, err
		case r.other != "":
			n = copy(b, r.other)
			r.other = r.other[n:]
			return n, nil
		}
		c.reads = c.reads[1:]
		switch {
		case r.err != nil:
			return 0, r.err
		case r.silent:
			c.faulty.waits()
			return c.nobody.Read(b)
		}
	}
	return c.Conn.Read(b)
}

func (c *faultyConn) Close() error { return errors.Join(c.nobody.Close(), c.Conn.Close()) }

func (c *faultyConn) SetReadDeadline(t time.Time) error {
	return errors.Join(c.nobody.SetReadDeadline(t), c.Conn.SetReadDeadline(t))
}

func (c *faultyConn) SetWriteDeadline(t time.Time) error {
	return errors.Join(c.nobody.SetWriteDeadline(t), c.Conn.SetWriteDeadline(t))
}
