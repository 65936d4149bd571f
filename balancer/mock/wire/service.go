package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"shardsh/balancer/mongoerr"
)

// service is one listener being served.
type service struct {
	server   *Server
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelCauseFunc
	// forget stops listening for the end of the context of Serve.
	forget func() bool

	// refused connections since the log last heard of one, at refusedAt; both
	// are of the goroutine that accepts.
	refused   int
	refusedAt time.Time

	mu      sync.Mutex
	retired bool
	conns   map[*conn]struct{}
	wg      sync.WaitGroup
}

// run accepts until the service is to end and waits for its connections.
func (s *service) run() error {
	hungUp := make(chan struct{})
	cancelled := context.AfterFunc(s.ctx, func() {
		defer close(hungUp)
		s.hangUp()
	})
	err := mongoerr.CatchPanic(s.server.log(), "accepting connections", s.accept)
	if err != nil {
		s.cancel(errStopping) // a listener that fails takes its connections along
	}
	s.wg.Wait()
	if !cancelled() {
		<-hungUp
	}
	return err
}

const (
	firstAcceptPause = 5 * time.Millisecond
	lastAcceptPause  = time.Second
)

// accept starts a goroutine for each connection. It returns nil when the
// service was told to end.
func (s *service) accept() error {
	pause := firstAcceptPause
	for {
		nc, err := s.listener.Accept()
		if err == nil {
			pause = firstAcceptPause
			s.admit(nc)
			continue
		}
		if s.ended() {
			return nil
		}
		if !isTemporary(err) {
			return fmt.Errorf("wire: accepting connections: %w", err)
		}
		s.server.log().Warn("cannot accept a connection for now", "error", err, "retry", pause)
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
		}
		pause = min(2*pause, lastAcceptPause)
	}
}

// isTemporary reports whether the error passes by itself, such as a lack of file
// descriptors.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *service) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retired || s.ctx.Err() != nil
}

func (s *service) admit(nc net.Conn) {
	server := s.server
	if server.open.Add(1) > server.maxConnections() {
		server.open.Add(-1)
		s.refuse(nc)
		return
	}
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired || s.ctx.Err() != nil {
		server.open.Add(-1)
		c.hangUp(errStopping)
		return
	}
	s.conns[c] = struct{}{}
	s.wg.Go(func() {
		c.serve()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		server.open.Add(-1)
	})
}

// refusalLogInterval is how often the log hears of connections that are one too many:
// a flood of them must not become one of the log.
const refusalLogInterval = time.Second

func (s *service) refuse(nc net.Conn) {
	s.refused++
	if now := time.Now(); now.Sub(s.refusedAt) >= refusalLogInterval {
		s.server.log().Warn("connections refused: too many are open", "refused", s.refused, "last", nc.RemoteAddr(), "limit",
			s.server.maxConnections())
		s.refused, s.refusedAt = 0, now
	}
	nc.Close()
}

// closeWhenIdle closes the listener, and each connection as soon as it has nothing
// to do.
func (s *service) closeWhenIdle() {
	for _, c := range s.stopAndListConns() {
		c.closeWhenIdle()
	}
}

// hangUp closes everything at once.
func (s *service) hangUp() {
	for _, c := range s.stopAndListConns() {
		c.hangUp(errStopping)
	}
}

// stopAndListConns prevents new connections, and lists the existing ones.
func (s *service) stopAndListConns() []*conn {
	s.mu.Lock()
	s.retired = true
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.server.log().Warn("closing the listener", "error", err)
	}
	return conns
}
