package busypoll

import (
	"context"
	"io"
	"net"
	"testing"
)

// given returns the connection that it is.
type given struct{ net.Conn }

func (g given) DialContext(context.Context, string, string) (net.Conn, error) { return g.Conn, nil }

// Connections of the system poll; others are those of the dialer behind.
func TestDialer(t *testing.T) {
	for network, ends := range pairs(t) {
		polling(t, ends[0])
		nc, err := NewDialer(given{ends[0]}).DialContext(t.Context(), network, "")
		if _, polls := nc.(*conn); err != nil || !polls {
			t.Fatalf("%s: %T, error %v", network, nc, err)
		}
		if _, err := ends[1].Write([]byte("four bytes and more")); err != nil {
			t.Fatal(err)
		}
		ends[1].Close()
		head := make([]byte, 4)
		if _, err := io.ReadFull(nc, head); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(nc)
		if got := string(head) + string(rest); got != "four bytes and more" || err != nil {
			t.Errorf("%s: %q, error %v", network, got, err)
		}
	}
	pipe, _ := net.Pipe()
	if nc, err := NewDialer(given{pipe}).DialContext(t.Context(), "", ""); nc != pipe || err != nil {
		t.Errorf("%T, error %v", nc, err)
	}
}

// A nil dialer is the standard library's.
func TestDefaultDialer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := NewDialer(nil).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}
