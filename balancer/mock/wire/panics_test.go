package wire_test

import (
	"context"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// brittle is a connection that panics where the server uses it.
type brittle struct {
	net.Conn
	at string
}

func (b brittle) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if b.at == "read" && n > 0 {
		panic("boom")
	}
	return n, err
}

func (b brittle) Write(p []byte) (int, error) {
	if b.at == "write" {
		panic("boom")
	}
	return b.Conn.Write(p)
}

func (b brittle) HandshakeContext(context.Context) error {
	if b.at == "handshake" {
		panic("boom")
	}
	return nil
}

// brittleListener gives out brittle connections until at is empty.
type brittleListener struct {
	*wire.Pipe
	at *string
}

func (l brittleListener) Accept() (net.Conn, error) {
	nc, err := l.Pipe.Accept()
	return brittle{nc, *l.at}, err
}

// explodingListener panics instead of taking a connection.
type explodingListener struct{ *wire.Pipe }

func (explodingListener) Accept() (net.Conn, error) { panic("boom") }

// A listener that panics is one that fails: Serve says so, and its connections
// end.
func TestPanicOfAListenerIsItsError(t *testing.T) {
	err := (&wire.Server{Handler: new(toy)}).Serve(t.Context(), explodingListener{wire.NewPipe()})
	if !mongoerr.Is(err, mongoerr.InternalError) {
		t.Errorf("Serve ends with %v", err)
	}
}

// leaving panics when a client leaves.
type leaving struct{ *toy }

func (leaving) Leave(*wire.ClientConn) { panic("boom") }

// A panic anywhere in the goroutines of a connection costs that connection:
// others are served, and the server comes to its end.
func TestPanicCostsTheConnectionOnly(t *testing.T) {
	for _, at := range []string{"read", "write", "handshake", "leave"} {
		t.Run(at, func(t *testing.T) {
			pipe := wire.NewPipe()
			where := at
			h := new(toy).on("bye", func(_ context.Context, r wire.Request) bson.D {
				r.Client.Drop()
				return nil
			})
			serve(t, &wire.Server{Handler: leaving{h}}, brittleListener{pipe, &where})
			one := dial(t, pipe)
			bye := msg(t, 0, command("bye"))
			// The second waits for its turn. A server that has closed already takes none.
			_, _ = one.Write(append(bye, bye...))
			one.expectClosed()
			where = "leave"
			dial(t, pipe).expectPing()
		})
	}
}
