package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// transferLimit is how long a peer may take over one message.
const transferLimit = time.Minute

// served is a cluster with its servers and the ports they listen on.
type served struct {
	logger  *slog.Logger
	grace   time.Duration
	tls     *tls.Config // nil without
	cluster *mock.Cluster
	nodes   []*node
}

// node is one process of the cluster: the mongos, a shard or the config
// server.
type node struct {
	name      string
	listeners []net.Listener
	server    *wire.Server
}

// address is where a node is to be reached first.
func (n *node) address() string { return n.listeners[0].Addr().String() }

// open makes the cluster and listens. What fails leaves nothing open.
func (o serveLine) open(ctx context.Context, logger *slog.Logger) (*served, error) {
	directory, err := readUsers(o.auth)
	if err != nil {
		return nil, err
	}
	topology, err := o.readTopology()
	if err != nil {
		return nil, err
	}
	c := &served{logger: logger, grace: o.grace}
	if c.tls, err = o.readTLS(); err != nil {
		return nil, err
	}
	if err := c.listen(ctx, o, topology); err != nil {
		c.close()
		return nil, err
	}
	if c.cluster, err = o.newCluster(topology, logger); err != nil {
		c.close()
		return nil, usageError{err}
	}
	front := router.New(c.cluster, logger,
		router.WithUsers(directory, len(o.auth) > 0), router.WithIdleCursors(o.idleCursors))
	for _, n := range c.nodes {
		n.server = &wire.Server{
			Handler: front, Logger: logger.With("node", n.name),
			Limits: wire.Limits{Connections: o.maxConnections, Transfer: transferLimit},
		}
	}
	for _, host := range o.bind {
		if c.tls == nil && !loopback(host) {
			logger.Warn("passwords and data cross the network in the clear: use --tls-cert", "bind", host)
		}
	}
	logger.Info("serving a mock cluster", "version", mock.Version, "shards", len(topology.Shards), "time", o.mockTime,
		"authentication", len(o.auth) > 0, "tls", c.tls != nil)
	return c, nil
}

func (o serveLine) readTopology() (*mock.Topology, error) {
	if o.topology == "" {
		return mock.DefaultTopology(o.shards), nil
	}
	topology, err := mock.ReadTopology(o.topology)
	if err != nil {
		return nil, usageError{fmt.Errorf("--topology: %w", err)}
	}
	return topology, nil
}

func (o serveLine) newCluster(topology *mock.Topology, logger *slog.Logger) (*mock.Cluster, error) {
	cfg := mock.Config{
		Topology: topology, RealTime: o.mockTime == "real", Seed: o.seed, Logger: logger, Parameters: map[string]any{},
	}
	if o.seeded {
		cfg.Start = mockEpoch
	}
	for name, value := range o.parameters {
		cfg.Parameters[name] = value
	}
	return mock.New(cfg)
}

// listen opens the ports: the mongos's, and those of the shards and the config
// server after it where they are wanted.
func (c *served) listen(ctx context.Context, o serveLine, _ *mock.Topology) error {
	return c.addNode(ctx, o, "mongos", o.port)
}

// addNode listens on one port of every address. Where any port will do, the
// first address chooses for all.
func (c *served) addNode(ctx context.Context, o serveLine, name string, port int) error {
	n := &node{name: name}
	c.nodes = append(c.nodes, n)
	for _, host := range o.bind {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return listenError(address, err)
		}
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			port = tcp.Port
		}
		if c.tls != nil {
			l = tls.NewListener(l, c.tls)
		}
		n.listeners = append(n.listeners, l)
		c.logger.Info("listening", "node", name, "address", l.Addr().String())
	}
	return nil
}

// uri is the connection string of the mongos.
func (c *served) uri() string {
	host, port, err := net.SplitHostPort(c.nodes[0].address())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.To4() == nil {
			host = "::1"
		}
	}
	uri := "mongodb://" + net.JoinHostPort(host, port) + "/"
	if c.tls != nil {
		uri += "?tls=true"
	}
	return uri
}

// serve answers until ctx ends or a listener fails, and then lets the commands
// that run finish for as long as the grace lasts.
func (c *served) serve(ctx context.Context) error {
	failed := make(chan error, 1)
	var running sync.WaitGroup
	for _, n := range c.nodes {
		for _, l := range n.listeners {
			running.Go(func() {
				// The servers end with stop, not with ctx, so that commands may finish.
				if err := n.server.Serve(context.WithoutCancel(ctx), l); err != nil && !errors.Is(err, wire.ErrStopped) {
					select {
					case failed <- err:
					default:
					}
				}
			})
		}
	}
	var err error
	select {
	case <-ctx.Done():
		c.logger.Info("stopping", "cause", context.Cause(ctx))
	case err = <-failed:
	}
	c.stop()
	running.Wait()
	c.logger.Info("stopped")
	return err
}

// stop ends the servers, all at once.
func (c *served) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	var stopping sync.WaitGroup
	for _, n := range c.nodes {
		stopping.Go(func() {
			if err := n.server.Shutdown(ctx); err != nil {
				c.logger.Warn("commands were interrupted", "node", n.name, "after", c.grace)
			}
		})
	}
	stopping.Wait()
}

// close gives back what open took.
func (c *served) close() {
	for _, n := range c.nodes {
		for _, l := range n.listeners {
			_ = l.Close() // the servers have closed theirs
		}
	}
	if c.cluster != nil {
		c.cluster.Close()
	}
}
