package line

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"time"
)

const (
	// aheadBytes is how much is read ahead. Most replies to single commands are smaller.
	aheadBytes = 16 << 10
	// lengthBytes begin a message, and count themselves; headerBytes are the least.
	lengthBytes, headerBytes = 4, 16
)

// conn is a connection from which more is read than was asked for, if it is there: the
// driver asks for the four bytes that a message begins with, and then for the rest.
type conn struct {
	net.Conn
	name   name
	in     *bufio.Reader
	forget func()

	// What has failed here fails once more for the driver, which deals with it.
	readFailed, writeFailed error
	// There are deadlines.
	readTimed, writeTimed bool
}

// LocalAddr returns the connection's name.
func (c *conn) LocalAddr() net.Addr { return c.name }

// Close closes the connection.
func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// Read reads what is there.
func (c *conn) Read(b []byte) (int, error) {
	if err := c.readFailed; err != nil && c.in.Buffered() == 0 {
		c.readFailed = nil
		return 0, err
	}
	return c.in.Read(b)
}

// Write writes all of b.
func (c *conn) Write(b []byte) (int, error) {
	if c.writeFailed != nil {
		return 0, c.writeFailed
	}
	return c.Conn.Write(b)
}

// SetDeadline is for reads and writes.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline is none when t is zero.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.readTimed = !t.IsZero()
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline is none when t is zero.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writeTimed = !t.IsZero()
	return c.Conn.SetWriteDeadline(t)
}

// send writes a message. Where it returns false the driver is to write it, which will
// see why it could not be done.
func (c *conn) send(ctx context.Context, message []byte) bool {
	if by, timed := ctx.Deadline(); timed || c.writeTimed {
		if c.SetWriteDeadline(by) != nil {
			return false
		}
	}
	defer c.stopAfter(ctx)()
	_, c.writeFailed = c.Write(message)
	return c.writeFailed == nil
}

// receive waits for a message. Where it returns nil the driver is to read it, from its
// first byte on.
func (c *conn) receive(ctx context.Context) []byte {
	if by, timed := ctx.Deadline(); timed || c.readTimed {
		if c.SetReadDeadline(by) != nil {
			return nil
		}
	}
	defer c.stopAfter(ctx)()
	message, err := c.small()
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // the driver has deadlines of its own
		c.readFailed = err
	}
	return message
}

// small reads a message that is small enough to be read ahead; nil is another one.
func (c *conn) small() ([]byte, error) {
	length, err := c.in.Peek(lengthBytes)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(length)
	if n < headerBytes || n > aheadBytes {
		return nil, nil
	}
	all, err := c.in.Peek(int(n))
	if err != nil {
		return nil, err
	}
	message := bytes.Clone(all)
	_, err = c.in.Discard(len(message))
	return message, err
}

// stopAfter has what waits for the connection stop waiting when ctx ends, until the
// function that it returns is called.
func (c *conn) stopAfter(ctx context.Context) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = c.SetDeadline(time.Unix(1, 0)) // a connection that is closed waits for nothing
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}
