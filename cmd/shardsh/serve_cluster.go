package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"shardsh/balancer/catalog"
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
	// configServer is its address; empty where it does not listen.
	configServer string
}

// node is one process of the cluster: the mongos, a shard or the config
// server.
type node struct {
	name      string
	member    *router.Member // nil for the mongos
	listeners []net.Listener
	server    *wire.Server
}

// address is where a node is to be reached first. One that listens everywhere
// is reached on this machine.
func (n *node) address() string {
	address := n.listeners[0].Addr().String()
	host, port, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	switch {
	case err != nil || ip == nil || !ip.IsUnspecified():
		return address
	case ip.To4() == nil:
		return net.JoinHostPort("::1", port)
	}
	return net.JoinHostPort("127.0.0.1", port)
}

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
	if c.cluster, err = o.newCluster(topology, c.configServer, logger); err != nil {
		c.close()
		return nil, usageError{err}
	}
	front := router.New(c.cluster, logger,
		router.WithUsers(directory, len(o.auth) > 0), router.WithIdleCursors(o.idleCursors), router.WithSnapshots(snapshotsIn(o.dbpath)))
	for _, n := range c.nodes {
		n.server = &wire.Server{
			Handler: n.handler(front), Logger: logger.With("node", n.name),
			Limits: wire.Limits{Connections: o.maxConnections, Transfer: transferLimit},
		}
	}
	for _, host := range o.bind {
		if c.tls == nil && !loopback(host) {
			logger.Warn("passwords and data cross the network in the clear: use --tls-cert", "bind", host)
		}
	}
	logger.Info("serving a mock cluster", "version", c.cluster.Version(), "shards", c.cluster.ShardCount(), "time", o.mockTime,
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

func (o serveLine) newCluster(topology *mock.Topology, configServer string, logger *slog.Logger) (*mock.Cluster, error) {
	pace, err := mockPace(o.mockTime)
	if err != nil {
		return nil, err
	}
	cfg := mock.Config{
		Topology: topology, Pace: pace, RealTime: o.mockTime == "real", Version: o.serverVersion.release, Seed: o.seed, Logger: logger, Parameters: map[string]any{},
		ConfigServer: configServer, DBPath: o.dbpath, Snapshot: o.snapshot,
	}
	if o.keeps() && !o.described {
		cfg.Topology = nil
	}
	if o.seeded {
		cfg.Start = mockEpoch
	}
	for name, value := range o.parameters {
		cfg.Parameters[name] = value
	}
	return newMock(cfg, "--shards, --topology and --snapshot")
}

// keeps tells whether the cluster may have come from somewhere.
func (o serveLine) keeps() bool { return o.dbpath != "" || o.snapshot != "" }

// listen opens the ports: the mongos's, and those of the shards and the config
// server after it where they are wanted. The topology learns the shards'
// addresses, but for those that it gives itself.
func (c *served) listen(ctx context.Context, o serveLine, topology *mock.Topology) error {
	if _, err := c.addNode(ctx, o, "mongos", o.port); err != nil || !o.shardPorts {
		return err
	}
	port := func(i int) int {
		if o.port == 0 {
			return 0
		}
		return o.port + 1 + i
	}
	if last := port(len(topology.Shards)); last > 65535 {
		return usagef("--shard-ports needs the ports %d to %d: choose a lower --port", o.port, last)
	}
	for i := range topology.Shards {
		shard := &topology.Shards[i]
		n, err := c.addNode(ctx, o, shard.ID, port(i))
		if err != nil {
			return err
		}
		if shard.Host == "" {
			shard.Host = fmt.Sprintf("rs%d/%s", i, n.address())
		}
		set, _, _ := strings.Cut(shard.Host, "/")
		n.member = &router.Member{ID: catalog.ShardID(shard.ID), Set: set, Address: n.address()}
	}
	n, err := c.addNode(ctx, o, "config", port(len(topology.Shards)))
	if err != nil {
		return err
	}
	c.configServer = n.address()
	n.member = &router.Member{ID: mock.ConfigServerID, Set: "cfg", Address: n.address()}
	return nil
}

// handler answers for a node.
func (n *node) handler(front *router.Router) *router.Router {
	if n.member == nil {
		return front
	}
	return n.member.Of(front)
}

// addNode listens on one port of every address. Where any port will do, the
// first address chooses for all.
func (c *served) addNode(ctx context.Context, o serveLine, name string, port int) (*node, error) {
	n := &node{name: name}
	c.nodes = append(c.nodes, n)
	for _, host := range o.bind {
		address := net.JoinHostPort(host, strconv.Itoa(port))
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return nil, listenError(address, err)
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
	return n, nil
}

// uri is the connection string of the mongos.
func (c *served) uri() string {
	uri := "mongodb://" + c.nodes[0].address() + "/"
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
