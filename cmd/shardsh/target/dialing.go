package target

import (
	"bufio"
	"context"
	"net"
)

// dialing dials as the driver does by itself, and reads ahead: the driver asks for the
// four bytes that a reply begins with, and then for the rest.
type dialing struct{ net.Dialer }

// aheadBytes is as much as most replies have.
const aheadBytes = 4 << 10

// DialContext opens a connection.
func (d *dialing) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &readingAhead{Conn: nc, in: bufio.NewReaderSize(nc, aheadBytes)}, nil
}

// readingAhead is a connection from which more is read than was asked for, if it is
// there.
type readingAhead struct {
	net.Conn
	in *bufio.Reader
}

// Read reads what is there.
func (c *readingAhead) Read(b []byte) (int, error) { return c.in.Read(b) }
