package busypoll

import (
	"bufio"
	"context"
	"io"
	"net"
)

// readAhead is how many bytes a connection reads ahead. Most replies to single commands are shorter
// than that, so that one read returns both their length and their body.
const readAhead = 16 << 10

// ContextDialer opens connections.
type ContextDialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer opens polling connections for one client.
type Dialer struct {
	next  ContextDialer
	group Group
}

// NewDialer returns a Dialer that opens connections with another dialer. A nil dialer stands for that
// of the standard library.
func NewDialer(to ContextDialer) *Dialer {
	if to == nil {
		to = new(net.Dialer)
	}
	return &Dialer{next: to}
}

// DialContext opens a connection. Where polling would not help, it returns the connection of the
// underlying dialer.
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

// Read reads the available bytes.
func (c *conn) Read(b []byte) (int, error) { return c.reader.Read(b) }
