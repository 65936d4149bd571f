package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"shardsh/balancer/mongoerr"
)

// service serves one listener.
type service struct {
	server   *Server
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelCauseFunc
	// stopWatching stops watching the context of Serve.
	stopWatching func() bool

	// refused counts the rejected connections since the last log message about them, at refusedAt. Only
	// the accepting goroutine uses both.
	refused   int
	refusedAt time.Time

	mu      sync.Mutex
	stopped bool
	conns   map[*conn]struct{}
	wg      sync.WaitGroup
}

// run accepts connections until the service ends and waits for the connections.
func (s *service) run() error {
	hungUp := make(chan struct{})
	cancelled := context.AfterFunc(s.ctx, func() {
		defer close(hungUp)
		s.hangUp()
	})
	err := mongoerr.CatchPanic(s.server.log(), "accepting connections", s.accept)
	if err != nil {
		s.cancel(errStopping) // if the listener fails, its connections end, too
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

// accept starts a goroutine for each connection. It returns nil if the service was stopped.
func (s *service) accept() error {
	pause := firstAcceptPause
	for {
		nc, err := s.listener.Accept()
		if err == nil {
			pause = firstAcceptPause
			s.admit(nc)
			continue
		}
		if s.hasEnded() {
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

// isTemporary reports whether the error is temporary, such as a lack of file descriptors.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *service) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped || s.ctx.Err() != nil
}

func (s *service) admit(nc net.Conn) {
	server := s.server
	if server.openConnections.Add(1) > server.maxConnections() {
		server.openConnections.Add(-1)
		s.refuse(nc)
		return
	}
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.ctx.Err() != nil {
		server.openConnections.Add(-1)
		c.hangUp(errStopping)
		return
	}
	s.conns[c] = struct{}{}
	s.wg.Go(func() {
		c.serve()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		server.openConnections.Add(-1)
	})
}

// refusalLogInterval is the minimum interval between log messages about rejected connections, so that a
// flood of connections does not flood the log.
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

// closeWhenIdle closes the listener, and each connection as soon as it is idle.
func (s *service) closeWhenIdle() {
	for _, c := range s.stopAndListConns() {
		c.closeWhenIdle()
	}
}

// hangUp closes the listener and all connections at once.
func (s *service) hangUp() {
	for _, c := range s.stopAndListConns() {
		c.hangUp(errStopping)
	}
}

// stopAndListConns prevents new connections and returns the existing ones.
func (s *service) stopAndListConns() []*conn {
	s.mu.Lock()
	s.stopped = true
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.server.log().Warn("closing the listener", "error", err)
	}
	return conns
}
