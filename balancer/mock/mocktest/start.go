package mocktest

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// Option configures a cluster made by Start.
type Option func(*setup)

type setup struct {
	config  mock.Config
	handle  *Mock
	routers int
	err     error
}

// WithRelease makes the cluster behave like a release such as "5.0". The default is the current release.
func WithRelease(release string) Option {
	return func(s *setup) {
		var err error
		s.config.Release, err = catalog.ParseRelease(release)
		s.err = errors.Join(s.err, err)
	}
}

// WithTopology creates the cluster from the text of a topology file, which defines the shards.
func WithTopology(text string) Option {
	return func(s *setup) {
		var err error
		s.config.Topology, err = mock.ParseTopology([]byte(text))
		s.err = errors.Join(s.err, err)
	}
}

// WithSnapshot creates the cluster from a file, which defines the shards. The file comes from "shardsh
// snapshot", or from mock.save() with all documents.
func WithSnapshot(path string) Option {
	return func(s *setup) {
		s.config.Topology = nil
		picture, err := snapfile.Open(path, snapfile.Limits{})
		switch {
		case errors.Is(err, snapfile.ErrNotSnapshot):
			s.config.Snapshot = path
		case err != nil:
			s.err = errors.Join(s.err, err)
		default:
			s.config.Metadata = picture
		}
	}
}

// WithSeed makes all random choices repeatable. Virtual time then begins on 2026-01-01.
func WithSeed(seed uint64) Option {
	return func(s *setup) {
		s.config.Seed = seed
		s.config.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
}

// WithVirtualTime lets the cluster's time jump while a command waits and on Mock.Advance. The default is
// real time.
func WithVirtualTime() Option { return func(s *setup) { s.config.RealTime = false } }

// WithParameter sets a server parameter by name.
func WithParameter(name string, value any) Option {
	return func(s *setup) { s.config.Parameters[name] = value }
}

// WithRouters sets the number of routers. Each has its own port and its own routing table cache. Start
// returns the connection string of the first router, [Mock.Routers] those of all.
func WithRouters(n int) Option { return func(s *setup) { s.routers = n } }

// WithMock connects m to the cluster, so that the test can cause faults and advance time.
func WithMock(m *Mock) Option { return func(s *setup) { s.handle = m } }

// Start starts a cluster with the given number of empty shards and returns its connection string. The
// cluster listens on a local port of its own and accepts any client. It stops at the end of the test;
// clients should be closed before.
func Start(t testing.TB, shards int, options ...Option) (uri string) {
	t.Helper()
	s := setup{config: mock.Config{RealTime: true, Parameters: map[string]any{}}}
	if shards < 1 || shards > 1000 {
		t.Fatalf("mocktest.Start takes 1 to 1000 shards, not %d", shards)
	}
	s.config.Topology = mock.DefaultTopology(shards)
	for _, set := range options {
		set(&s)
	}
	if s.err != nil {
		t.Fatalf("mocktest.Start: %v", s.err)
	}
	cluster, err := mock.New(s.config)
	if err != nil {
		t.Fatalf("mocktest.Start: %v", err)
	}
	end := sync.OnceFunc(cluster.Close)
	anywhere := func(name string, _ bool) (string, error) { return filepath.Abs(name) }
	first := router.New(cluster, nil, router.WithSnapshots(anywhere)) // any path: all clients belong to the test
	routers := s.routers
	if routers == 0 && s.config.Topology != nil {
		routers = s.config.Topology.Routers
	}
	uris := []string{listen(t, end, func(address string) (wire.Handler, error) {
		first.SetAddress(address)
		return first, nil
	})}
	for range routers - 1 {
		uris = append(uris, listen(t, end, func(address string) (wire.Handler, error) { return first.NewSibling(address) }))
	}
	if s.handle != nil {
		*s.handle = Mock{t: t, handler: first, client: &wire.ClientConn{}, routers: uris}
	}
	return uris[0]
}

// listen starts a server for the router of its address and returns the connection string. The cluster
// closes before the server, so that no command still waits in it.
func listen(t testing.TB, end func(), at func(address string) (wire.Handler, error)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("mocktest.Start: %v", err)
	}
	handler, err := at(listener.Addr().String())
	if err != nil {
		t.Fatalf("mocktest.Start: %v", err)
	}
	server := &wire.Server{Handler: handler}
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), listener) }()
	t.Cleanup(func() {
		end()
		if err := errors.Join(server.Shutdown(context.Background()), <-done); err != nil {
			t.Error(err)
		}
	})
	return "mongodb://" + listener.Addr().String() + "/"
}
