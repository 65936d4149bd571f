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

// Option says what a cluster of Start is like.
type Option func(*setup)

type setup struct {
	config  mock.Config
	handle  *Mock
	routers int
	err     error
}

// WithRelease makes the cluster behave like a release: "5.0". Without it is the present
// one.
func WithRelease(release string) Option {
	return func(s *setup) {
		var err error
		s.config.Version, err = catalog.ParseRelease(release)
		s.err = errors.Join(s.err, err)
	}
}

// WithTopology makes the cluster of the text of a topology file, which says which
// shards there are.
func WithTopology(text string) Option {
	return func(s *setup) {
		var err error
		s.config.Topology, err = mock.ParseTopology([]byte(text))
		s.err = errors.Join(s.err, err)
	}
}

// WithSnapshot makes the cluster of a file: one of "shardsh snapshot", or one of
// mock.save() with all its documents. It says which shards there are.
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

// WithSeed makes all chance repeat, and time begin on 2026-01-01 where it is virtual.
func WithSeed(seed uint64) Option {
	return func(s *setup) {
		s.config.Seed = seed
		s.config.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
}

// WithVirtualTime lets the cluster's time jump while a command waits, and otherwise
// when Mock.Advance says so. Without it is as on the wall.
func WithVirtualTime() Option { return func(s *setup) { s.config.RealTime = false } }

// WithParameter sets a server parameter by its own name.
func WithParameter(name string, value any) Option {
	return func(s *setup) { s.config.Parameters[name] = value }
}

// WithRouters gives the cluster so many routers, each on a port of its own and with its
// own knowledge of where chunks lie. Start returns the connection string of the first,
// [Mock.Routers] those of all.
func WithRouters(n int) Option { return func(s *setup) { s.routers = n } }

// WithMock makes m the handle by which a test lets the cluster fail, or its time jump.
func WithMock(m *Mock) Option { return func(s *setup) { s.handle = m } }

// Start begins a cluster with so many empty shards that listens on this machine, on a
// port of its own, and returns its connection string. Any client may use it. It ends
// with the test; the clients should have ended by then.
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
	first := router.New(cluster, nil, router.WithSnapshots(anywhere)) // the clients are the test's own
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
		*s.handle = Mock{t: t, handler: first, client: &wire.Client{}, routers: uris}
	}
	return uris[0]
}

// listen lets the router of an address answer there, and returns its connection string.
// The cluster ends before the server, so that nobody waits in it.
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
