package line

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/awake"
)

// dialer knows the connections that it has dialled by their names. All that the driver
// shows of what a connection was dialled as is the local address, so that is the name.
type dialer struct {
	to      options.ContextDialer
	lookout awake.Lookout

	mu    sync.Mutex
	last  int
	conns map[name]*conn
}

func newDialer(to options.ContextDialer) *dialer {
	if to == nil {
		to = new(net.Dialer)
	}
	return &dialer{to: to, conns: make(map[name]*conn)}
}

// DialContext opens a connection.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := d.to.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	c := &conn{Conn: nc, name: name(fmt.Sprintf("%s/%d", nc.LocalAddr(), d.last)),
		in: bufio.NewReaderSize(d.lookout.Reader(nc), aheadBytes)}
	c.forget = sync.OnceFunc(func() { d.forget(c.name) })
	d.conns[c.name] = c
	return c, nil
}

// dialled returns an open connection; nil when there is none of that name.
func (d *dialer) dialled(local address.Address) *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conns[name(local)]
}

func (d *dialer) forget(n name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, n)
}

// name is the local address of a connection, and a number.
type name string

// Network is what the standard library calls it.
func (name) Network() string { return "tcp" }

func (n name) String() string { return string(n) }
