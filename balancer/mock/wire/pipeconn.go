package wire

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	firstStreamBytes = 4 << 10
	// maxStreamBytes is the size of the buffer between writer and reader.
	maxStreamBytes = 64 << 10
)

// pipeConn is one end of an in-memory connection, which consists of two streams.
type pipeConn struct {
	in, out       *stream
	local, remote pipeAddr
}

func newPipeConns(a, b pipeAddr) (*pipeConn, *pipeConn) {
	there, back := newStream(), newStream()
	return &pipeConn{in: back, out: there, local: a, remote: b},
		&pipeConn{in: there, out: back, local: b, remote: a}
}

// Read returns the available bytes. It waits only for the first byte. It returns io.EOF when the other
// end is closed and all bytes are read.
func (c *pipeConn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write writes to the connection. It fails with EPIPE if the other end is closed.
func (c *pipeConn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close closes both directions. The other end can still read the written bytes. Reads and writes of this
// end fail with net.ErrClosed.
func (c *pipeConn) Close() error {
	c.in.closeReader()
	c.out.closeWriter()
	return nil
}

func (c *pipeConn) LocalAddr() net.Addr  { return c.local }
func (c *pipeConn) RemoteAddr() net.Addr { return c.remote }

func (c *pipeConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *pipeConn) SetReadDeadline(t time.Time) error  { return c.in.setDeadline(&c.in.reader, t) }
func (c *pipeConn) SetWriteDeadline(t time.Time) error { return c.out.setDeadline(&c.out.writer, t) }

// stream is a bounded queue of bytes with one reader and one writer.
type stream struct {
	mu     sync.Mutex
	ring   []byte
	start  int // of the unread bytes
	unread int
	reader streamEnd
	writer streamEnd
}

// streamEnd is the reader or the writer of a stream.
type streamEnd struct {
	wake    sync.Cond
	closed  bool
	expired bool // the deadline has passed
	timer   *time.Timer
	version int // increases with each deadline; timers of earlier deadlines compare it
}

func newStream() *stream {
	s := &stream{}
	s.reader.wake.L = &s.mu
	s.writer.wake.L = &s.mu
	return s
}

// err returns the reason why this end cannot continue.
func (s *streamEnd) err() error {
	switch {
	case s.closed:
		return net.ErrClosed
	case s.expired:
		return os.ErrDeadlineExceeded
	}
	return nil
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err := s.reader.err(); err != nil {
			return 0, err
		}
		if s.unread > 0 || len(p) == 0 {
			break
		}
		if s.writer.closed {
			return 0, io.EOF
		}
		s.reader.wake.Wait()
	}
	n := copy(p, s.ring[s.start:min(s.start+s.unread, len(s.ring))])
	n += copy(p[n:], s.ring[:s.unread-min(s.unread, len(s.ring)-s.start)])
	s.start, s.unread = (s.start+n)%max(len(s.ring), 1), s.unread-n
	if n > 0 {
		s.writer.wake.Signal()
	}
	return n, nil
}

func (s *stream) write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err := s.writer.err(); err != nil {
			return written, err
		}
		if s.reader.closed {
			return written, &net.OpError{Op: "write", Net: pipeNetwork, Err: syscall.EPIPE}
		}
		n := s.put(p[written:])
		written += n
		if n > 0 {
			s.reader.wake.Signal()
		}
		if written == len(p) {
			return written, nil
		}
		s.writer.wake.Wait()
	}
}

// put writes as many bytes of p as fit.
func (s *stream) put(p []byte) int {
	p = p[:min(len(p), maxStreamBytes-s.unread)]
	s.grow(s.unread + len(p))
	for rest := p; len(rest) > 0; {
		end := (s.start + s.unread) % len(s.ring)
		free := min(len(s.ring)-end, len(s.ring)-s.unread)
		n := copy(s.ring[end:end+free], rest)
		s.unread += n
		rest = rest[n:]
	}
	return len(p)
}

func (s *stream) grow(want int) {
	if want <= len(s.ring) {
		return
	}
	size := max(len(s.ring), firstStreamBytes)
	for size < want {
		size *= 2
	}
	ring := make([]byte, size)
	n := copy(ring, s.ring[s.start:min(s.start+s.unread, len(s.ring))])
	copy(ring[n:], s.ring[:s.unread-n])
	s.ring, s.start = ring, 0
}

func (s *stream) closeReader() { s.close(&s.reader) }
func (s *stream) closeWriter() { s.close(&s.writer) }

func (s *stream) close(who *streamEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who.closed = true
	who.cancelDeadline()
	s.reader.wake.Broadcast()
	s.writer.wake.Broadcast()
}

func (s *stream) setDeadline(who *streamEnd, t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if who.closed {
		return net.ErrClosed
	}
	who.cancelDeadline()
	if t.IsZero() {
		return nil
	}
	left := time.Until(t)
	if left <= 0 {
		who.expired = true
		who.wake.Broadcast()
		return nil
	}
	version := who.version
	who.timer = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if who.version == version {
			who.expired = true
			who.wake.Broadcast()
		}
	})
	return nil
}

func (s *streamEnd) cancelDeadline() {
	s.version++
	s.expired = false
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}
