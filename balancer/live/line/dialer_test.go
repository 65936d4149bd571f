package line

import (
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo/address"
)

// The names of connections differ, and are kept as long as these are open.
func TestConnectionsAreKnownByName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := newDialer(nil)
	var open []net.Conn
	for range 3 {
		nc, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, nc)
	}
	for i, nc := range open {
		local := address.Address(nc.LocalAddr().String())
		if got := d.dialled(local); net.Conn(got) != nc {
			t.Errorf("connection %d is not found by %s", i, local)
		}
		nc.Close()
		nc.Close()
		if d.dialled(local) != nil || len(d.conns) != len(open)-1-i {
			t.Errorf("connection %d is kept when it is closed: %d are", i, len(d.conns))
		}
	}
}
