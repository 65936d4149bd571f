package wire

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shardsh/balancer/busypoll"
	"shardsh/balancer/mongoerr"
)

// ErrStopped is the error of Serve on a stopped server.
var ErrStopped = errors.New("wire: server is stopped")

var (
	errPeerGone = mongoerr.New(mongoerr.ClientDisconnect, "the client closed its connection")
	errDropped  = mongoerr.New(mongoerr.ClientDisconnect, "the handler dropped the connection")
	errStopping = mongoerr.New(mongoerr.InterruptedAtShutdown, "the server is shutting down")
)

// Limits limits the resources that clients can use. Zero fields stand for the defaults.
type Limits struct {
	// MessageBytes is the maximum message size, including the header; the default is
	// DefaultMessageBytes.
	MessageBytes int32
	// UntrustedBytes is the maximum message size for clients that the handler does not Trust yet; the
	// default is MessageBytes.
	UntrustedBytes int32
	// Connections is the maximum number of open connections, above which new ones are closed at once;
	// the default is 1000.
	Connections int
	// Idle is how long a connection may stay open without a command. The default is no limit, because
	// drivers keep idle connections indefinitely. Time in the handler does not count.
	Idle time.Duration
	// Transfer is the time limit of receiving a message from its first to its last byte, of sending a
	// reply, and of a TLS handshake; the default is no limit.
	Transfer time.Duration
}

const defaultConnections = 1000

// Server serves commands on any number of listeners. The exported fields must be set before the first
// Serve and not changed afterwards.
type Server struct {
	Handler Handler
	// Logger logs connections that are closed because of an error; nil discards all messages.
	Logger *slog.Logger
	Limits Limits
	// Poll makes connections of clients in other processes poll for the next command before they block;
	// with nil they block at once.
	Poll *busypoll.Group

	openConnections atomic.Int64 // now
	lastClientID    atomic.Int32 // since the start
	requestID       atomic.Int32
	compressors     compressorPools

	mu       sync.Mutex
	services map[*service]struct{}
	stopped  bool
	// drainCtx ends when the server begins to stop. Commands that only wait for changes then end.
	drainCtx context.Context
	drain    context.CancelCauseFunc
	// running counts active Serve calls.
	running sync.WaitGroup
}

// Connections returns the number of open connections.
func (s *Server) Connections() int { return int(s.openConnections.Load()) }

// Serve accepts connections from l until ctx ends or the server is stopped. Then it returns nil after
// its last goroutine has ended. It closes l. It fails with ErrStopped and with the errors of l.
//
// The end of ctx, like the end of the server, cancels the commands of l's connections.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	svc, err := s.addService(ctx, l)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer s.removeService(svc)
	return svc.run()
}

func (s *Server) addService(ctx context.Context, l net.Listener) (*service, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, ErrStopped
	}
	if s.drainCtx == nil {
		s.drainCtx, s.drain = context.WithCancelCause(context.Background())
		s.services = make(map[*service]struct{})
	}
	svc := &service{server: s, listener: l, conns: make(map[*conn]struct{})}
	// Not derived from ctx: the cause that commands see must be a shutdown, whether ctx or the server
	// ends first.
	svc.ctx, svc.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	svc.stopWatching = context.AfterFunc(ctx, func() { svc.cancel(errStopping) })
	s.services[svc] = struct{}{}
	s.running.Add(1)
	return svc, nil
}

func (s *Server) removeService(svc *service) {
	svc.stopWatching()
	svc.cancel(errStopping)
	s.mu.Lock()
	delete(s.services, svc)
	s.mu.Unlock()
	s.running.Done()
}

// Shutdown accepts no more connections, closes idle ones, and waits until running commands have finished
// and sent their replies and all goroutines have ended. When ctx ends, it cancels the remaining
// commands, still waits for them, and returns the error of ctx. A command must call neither Shutdown nor
// Close.
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

// Close cancels all commands, closes all connections and waits for all goroutines.
func (s *Server) Close() error {
	for _, svc := range s.stop() {
		svc.cancel(errStopping)
	}
	s.running.Wait()
	return nil
}

// stop marks the server as stopped and returns the active services.
func (s *Server) stop() []*service {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.drain != nil {
		s.drain(errStopping)
	}
	return slices.Collect(maps.Keys(s.services))
}

func (s *Server) messageBytes() int32 {
	if s.Limits.MessageBytes > 0 {
		return s.Limits.MessageBytes
	}
	return DefaultMessageBytes
}

// maxBytesFrom returns the maximum size of a message from a client.
func (s *Server) maxBytesFrom(c *ClientConn) int32 {
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
