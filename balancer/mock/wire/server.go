package wire

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"shardsh/balancer/busypoll"
	"shardsh/balancer/mongoerr"
)

// ErrStopped is what Serve answers on a server that was stopped before.
var ErrStopped = errors.New("wire: server is stopped")

var (
	errPeerGone = mongoerr.New(mongoerr.ClientDisconnect, "the client closed its connection")
	errDropped  = mongoerr.New(mongoerr.ClientDisconnect, "the handler dropped the connection")
	errStopping = mongoerr.New(mongoerr.InterruptedAtShutdown, "the server is shutting down")
)

// Limits bounds what peers can take from a server. Zero fields mean the
// defaults.
type Limits struct {
	// MessageBytes is the largest message taken, header included;
	// DefaultMessageBytes by default.
	MessageBytes int32
	// UntrustedBytes is the same for clients that the handler does not Trust yet;
	// no other limit by default.
	UntrustedBytes int32
	// Connections is how many may be open at once; a connection more is closed
	// at once. 1000 by default.
	Connections int
	// Idle is how long a connection may go without a command; none by default,
	// as drivers keep idle connections for good. Time spent in the handler does
	// not count.
	Idle time.Duration
	// Transfer is how long a message may take from its first byte to its last,
	// a reply to be accepted, and a TLS handshake; any time by default.
	Transfer time.Duration
}

const defaultConnections = 1000

// Server answers commands on any number of listeners. Set the exported fields
// before the first Serve and leave them alone then.
type Server struct {
	Handler Handler
	// Logger logs connections that are closed because of an error; nil discards.
	Logger *slog.Logger
	Limits Limits
	// Poll has connections of clients in other processes poll for the next command before
	// they sleep; nil has them sleep at once.
	Poll *busypoll.Group

	open      atomic.Int64 // connections now
	clients   atomic.Int32 // connections ever
	requestID atomic.Int32
	packers   compressorPools

	mu       sync.Mutex
	services map[*service]struct{}
	stopped  bool
	// draining ends when the server begins to stop: commands that merely wait
	// for news give up then.
	draining context.Context
	drain    context.CancelCauseFunc
	// running counts Serve calls.
	running sync.WaitGroup
}

// Connections returns how many connections are open.
func (s *Server) Connections() int { return int(s.open.Load()) }

// Serve takes connections from l until ctx ends or the server is stopped, and
// returns nil then, when its last goroutine is done. It closes l. Errors are
// ErrStopped and those of l.
//
// The end of ctx cancels the commands that run on l's connections, as the end
// of the server does.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	svc, err := s.begin(ctx, l)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer s.end(svc)
	return svc.run()
}

func (s *Server) begin(ctx context.Context, l net.Listener) (*service, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, ErrStopped
	}
	if s.draining == nil {
		s.draining, s.drain = context.WithCancelCause(context.Background())
		s.services = make(map[*service]struct{})
	}
	svc := &service{server: s, listener: l, conns: make(map[*conn]struct{})}
	// Not a child of ctx: commands are to hear of a shutdown, whoever is first to
	// tell them.
	svc.ctx, svc.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	svc.forget = context.AfterFunc(ctx, func() { svc.cancel(errStopping) })
	s.services[svc] = struct{}{}
	s.running.Add(1)
	return svc, nil
}

func (s *Server) end(svc *service) {
	svc.forget()
	svc.cancel(errStopping)
	s.mu.Lock()
	delete(s.services, svc)
	s.mu.Unlock()
	s.running.Done()
}

// Shutdown takes no more connections, closes those without work, lets running
// commands finish and send their replies, and waits for every goroutine.
// Commands still running when ctx ends are cancelled; Shutdown then still
// waits for them and returns the error of ctx. Neither Shutdown nor Close may
// be called from within a command.
func (s *Server) Shutdown(ctx context.Context) error {
	for _, svc := range s.stop() {
		svc.closeWhenIdle()
	}
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, svc := range s.stop() {
		svc.cancel(errStopping)
	}
	<-done
	return ctx.Err()
}

// Close cancels every command, closes every connection and waits for every
// goroutine.
func (s *Server) Close() error {
	for _, svc := range s.stop() {
		svc.cancel(errStopping)
	}
	s.running.Wait()
	return nil
}

// stop marks the server stopped and lists what still serves.
func (s *Server) stop() []*service {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.drain != nil {
		s.drain(errStopping)
	}
	left := make([]*service, 0, len(s.services))
	for svc := range s.services {
		left = append(left, svc)
	}
	return left
}

func (s *Server) messageBytes() int32 {
	if s.Limits.MessageBytes > 0 {
		return s.Limits.MessageBytes
	}
	return DefaultMessageBytes
}

// maxBytesFrom returns the largest message taken from a client.
func (s *Server) maxBytesFrom(c *Client) int32 {
	if s.Limits.UntrustedBytes > 0 && !c.trusted.Load() {
		return min(s.Limits.UntrustedBytes, s.messageBytes())
	}
	return s.messageBytes()
}

func (s *Server) maxConnections() int64 {
	if s.Limits.Connections > 0 {
		return int64(s.Limits.Connections)
	}
	return defaultConnections
}

func (s *Server) log() *slog.Logger {
	if s.Logger != nil {
		return s.Logger
	}
	return slog.New(slog.DiscardHandler)
}
