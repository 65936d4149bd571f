package busypoll

import (
	"bufio"
	"context"
	"io"
	"net"
)

// readAhead is how many bytes a connection reads ahead. Most replies to single commands
// are shorter, so that their length and the rest are one read.
const readAhead = 16 << 10

// ContextDialer opens connections.
type ContextDialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer opens connections of one client that poll.
type Dialer struct {
	next  ContextDialer
	group Group
}

// NewDialer returns a Dialer that opens connections with another one; nil is the standard
// library's.
func NewDialer(to ContextDialer) *Dialer {
	if to == nil {
		to = new(net.Dialer)
	}
	return &Dialer{next: to}
}

// DialContext opens a connection. Where polling would not help it is the other dialer's.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := d.next.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	in := d.group.Reader(nc)
	if in == io.Reader(nc) {
		return nc, nil
	}
	return &conn{Conn: nc, reader: bufio.NewReaderSize(in, readAhead)}, nil
}

type conn struct {
	net.Conn
	reader *bufio.Reader
}

// Read reads what is there.
func (c *conn) Read(b []byte) (int, error) { return c.reader.Read(b) }
