package wire

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// Pipe is an in-memory listener. It implements net.Listener for the server and options.ContextDialer for
// the client. Its connections are buffered and support deadlines.
type Pipe struct {
	backlog chan *pipeConn
	closed  chan struct{}
	close   sync.Once
	dials   atomic.Int64
}

// NewPipe returns an open Pipe.
func NewPipe() *Pipe {
	return &Pipe{backlog: make(chan *pipeConn), closed: make(chan struct{})}
}

// Accept waits for the next DialContext. It fails with net.ErrClosed after
// Close.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.backlog:
		return c, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "accept", Net: pipeNetwork, Addr: p.Addr(), Err: net.ErrClosed}
	}
}

// Close makes Accept and DialContext fail. Existing connections stay open.
func (p *Pipe) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// Addr returns a constant address.
func (p *Pipe) Addr() net.Addr { return pipeAddr(pipeNetwork) }

// DialContext waits for Accept and returns the client's end of the connection. It ignores network. The
// server's end returns address as its LocalAddr. On a closed Pipe the error is "connection refused".
func (p *Pipe) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	select {
	case <-p.closed: // checked first, because Accept may still be waiting
		return nil, p.refusedErr(address)
	default:
	}
	local := pipeAddr(fmt.Sprintf("%s:%d", pipeNetwork, p.dials.Add(1)))
	client, server := newPipeConns(local, pipeAddr(address))
	select {
	case p.backlog <- server:
		return client, nil
	case <-p.closed:
		return nil, p.refusedErr(address)
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: pipeNetwork, Addr: pipeAddr(address), Err: ctx.Err()}
	}
}

func (p *Pipe) refusedErr(address string) error {
	return &net.OpError{Op: "dial", Net: pipeNetwork, Addr: pipeAddr(address), Err: syscall.ECONNREFUSED}
}

const pipeNetwork = "pipe"

type pipeAddr string

func (pipeAddr) Network() string  { return pipeNetwork }
func (a pipeAddr) String() string { return string(a) }
