package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"shardsh/balancer/busypoll"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/mockoptions"
)

// messageTimeout is the time limit for reading or writing one message.
const messageTimeout = time.Minute

// maxUnauthenticatedBytes is the maximum size of a message from an unauthenticated client if
// authentication is required. It is larger than the messages of an authentication.
const maxUnauthenticatedBytes = 64 << 10

// servedCluster is a mock cluster with its servers and their ports.
type servedCluster struct {
	logger  *slog.Logger
	grace   time.Duration
	tls     *tls.Config // nil without TLS
	cluster *mock.Cluster
	nodes   []*node
	routers int // number of routers, which are the first nodes
}

// node is one process of the cluster: a mongos, a shard or the config server.
type node struct {
	name      string
	member    *router.Member // nil for a mongos
	listeners []net.Listener
	server    *wire.Server
}

// address returns the first address of a node. If the node listens on all interfaces, it is the address
// on this machine.
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

// open creates the cluster and opens its ports. On an error, it closes everything that it has opened.
func (o *serveFlags) open(ctx context.Context, logger *slog.Logger) (*servedCluster, error) {
	directory, err := mockoptions.ReadUsers(o.auth)
	if err != nil {
		return nil, err
	}
	topology, err := o.topology()
	if err != nil {
		return nil, err
	}
	c := &servedCluster{logger: logger, grace: o.grace}
	if c.tls, err = mockoptions.ReadTLS(o.tlsCert, o.tlsKey); err != nil {
		return nil, err
	}
	if err := c.openPortsAndCluster(ctx, o, topology); err != nil {
		c.close()
		return nil, err
	}
	front := router.New(c.cluster, logger, router.WithUsers(directory, len(o.auth) > 0),
		router.WithCursorTimeout(o.idleCursors),
		router.WithSnapshots(
			mockoptions.SnapshotsInDBPath(o.dbpath),
		),
		router.WithBudget(mockoptions.NewMemoryBudget(o.memory)))
	limits := wire.Limits{Connections: o.maxConnections, Transfer: messageTimeout}
	if len(o.auth) > 0 {
		limits.UntrustedBytes = maxUnauthenticatedBytes
	}
	poll := new(busypoll.Group)
	for i, n := range c.nodes {
		handler, err := n.newHandler(front, i == 0)
		if err != nil {
			c.close()
			return nil, err
		}
		n.server = &wire.Server{Handler: handler, Logger: logger.With("node", n.name), Limits: limits, Poll: poll}
	}
	for _, host := range o.bind {
		if c.tls == nil && !isLoopback(host) {
			logger.Warn("passwords and data cross the network in the clear: use --tls-cert", "bind", host)
		}
	}
	logger.Info("serving a mock cluster", "version", c.cluster.Version(), "shards", c.cluster.ShardCount(), "time",
		cmp.Or(o.mockTime, "real"),
		"authentication", len(o.auth) > 0, "tls", c.tls != nil)
	return c, nil
}

// slowStartCollections is the number of collections from which creating a cluster takes over a second.
const slowStartCollections = 5000

// openPortsAndCluster opens the ports, and creates the cluster or opens the stored one.
func (c *servedCluster) openPortsAndCluster(ctx context.Context, o *serveFlags, topology *mock.Topology) error {
	for i := range max(1, cmp.Or(o.routers, topology.Routers)) {
		name := "mongos"
		if i > 0 {
			name += strconv.Itoa(i + 1)
		}
		if _, err := c.addNode(ctx, o, name, o.portAfter(i)); err != nil {
			return err
		}
	}
	c.routers = len(c.nodes)
	var err error
	if n := len(topology.Collections); n >= slowStartCollections {
		c.logger.Info("making the cluster: this takes a while", "collections", n)
	}
	if c.cluster, err = o.newCluster(topology, c.logger); err != nil {
		return err
	}
	if !o.shardPorts {
		return nil
	}
	if o.isLoaded() && o.mock == "" {
		topology = nil
	}
	return c.listenMembers(ctx, o, topology)
}

func (o *serveFlags) newCluster(topology *mock.Topology, logger *slog.Logger) (*mock.Cluster, error) {
	pace, err := mockoptions.ParseMockTime(o.mockTime)
	if err != nil {
		return nil, err
	}
	cfg := mock.Config{
		Topology: topology, ClockSpeed: pace, RealTime: o.mockTime == "" || o.mockTime == "real",
		Release: o.serverVersion, FCV: o.fcv, Seed: o.seed.Value,
		Logger: logger, Parameters: map[string]any{},
		DBPath: o.dbpath,
	}
	played, err := metadata.ConfigureMock(&cfg, o.snapshot)
	if err != nil {
		return nil, err
	}
	if o.mockTime == "" {
		metadata.UseClusterTime(&cfg)
	}
	if played != nil {
		logger.Info("mocking the cluster in a file", "file", o.snapshot, "time", played.Time())
		for _, lack := range metadata.MissingData(played) {
			logger.Warn(lack)
		}
	}
	if o.isLoaded() && o.mock == "" {
		cfg.Topology = nil
	}
	if o.seed.IsSet {
		cfg.Start = mockEpoch
	}
	for name, value := range o.parameters {
		cfg.Parameters[name] = value
	}
	return mockoptions.NewCluster(cfg, "--mock and --snapshot")
}

// portAfter returns the n-th port after the first; 0 (any free port) if the first is 0.
func (o *serveFlags) portAfter(n int) int {
	if o.port == 0 {
		return 0
	}
	return o.port + n
}

// listenMembers opens the ports of the shards and of the config server, which follow those of the
// mongos. The cluster gets these addresses, except for shards whose addresses a topology defines.
func (c *servedCluster) listenMembers(ctx context.Context, o *serveFlags, topology *mock.Topology) error {
	ids, err := c.shardsToServe(topology)
	if err != nil {
		return err
	}
	if last := o.portAfter(c.routers + len(ids)); last > 65535 {
		return usagef("--shard-ports needs the ports %d to %d: choose a lower --port", o.port, last)
	}
	own := shardsWithHost(topology)
	addresses := map[catalog.ShardID]string{}
	for i, id := range append(ids, catalog.ConfigServerID) {
		n, err := c.addNode(ctx, o, string(id), o.portAfter(c.routers+i))
		if err != nil {
			return err
		}
		n.member = &router.Member{Shard: id, Address: n.address()}
		if !own[id] {
			addresses[id] = n.address()
		}
	}
	if err := c.cluster.SetListenAddresses(addresses); err != nil {
		return err
	}
	return c.setReplicaSetNames()
}

// shardsToServe returns the shards in the order of the topology, or sorted by name. A config server
// that is also a shard comes last.
func (c *servedCluster) shardsToServe(topology *mock.Topology) ([]catalog.ShardID, error) {
	var ids []catalog.ShardID
	if topology != nil {
		for _, s := range topology.Shards {
			ids = append(ids, catalog.ShardID(s.ID))
		}
		return ids, nil
	}
	c.cluster.Lock()
	defer c.cluster.Unlock()
	shards, err := c.cluster.ConfigDB().Shards()
	for _, s := range shards {
		if s.ID != catalog.ConfigServerID {
			ids = append(ids, s.ID)
		}
	}
	return ids, err
}

// shardsWithHost returns the shards whose addresses a topology defines.
func shardsWithHost(topology *mock.Topology) map[catalog.ShardID]bool {
	own := map[catalog.ShardID]bool{}
	if topology != nil {
		for _, s := range topology.Shards {
			own[catalog.ShardID(s.ID)] = s.Host != ""
		}
	}
	return own
}

// setReplicaSetNames sets the names of the nodes' replica sets.
func (c *servedCluster) setReplicaSetNames() error {
	c.cluster.Lock()
	defer c.cluster.Unlock()
	for _, n := range c.nodes {
		if n.member == nil {
			continue
		}
		host := c.cluster.Addresses().ConfigServer()
		if n.member.Shard != catalog.ConfigServerID {
			shard, err := c.cluster.ConfigDB().ShardByID(string(n.member.Shard))
			if err != nil {
				return err
			}
			host = shard.Host
		}
		n.member.Set, _, _ = strings.Cut(host, "/")
	}
	return nil
}

// newHandler returns the command handler of a node.
func (n *node) newHandler(front *router.Router, isFirst bool) (*router.Router, error) {
	switch {
	case n.member != nil:
		return n.member.NewNode(front), nil
	case !isFirst:
		return front.NewSibling(n.address())
	}
	front.SetAddress(n.address())
	return front, nil
}

// addNode opens one port on each address. For port 0, the port of the first address is used for all
// addresses.
func (c *servedCluster) addNode(ctx context.Context, o *serveFlags, name string, port int) (*node, error) {
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
	}
	return n, nil
}

// announce logs the addresses of the nodes.
func (c *servedCluster) announce() {
	for _, n := range c.nodes {
		for _, l := range n.listeners {
			c.logger.Info("listening", "node", n.name, "address", l.Addr().String())
		}
	}
}

// uris returns the connection string of each mongos, one a line.
func (c *servedCluster) uris() string {
	uris := make([]string, c.routers)
	for i := range uris {
		uris[i] = "mongodb://" + c.nodes[i].address() + "/"
		if c.tls != nil {
			uris[i] += "?tls=true"
		}
	}
	return strings.Join(uris, "\n")
}

// serve serves until ctx ends or a listener fails. Then it lets the running commands finish within the
// grace period.
func (c *servedCluster) serve(ctx context.Context) error {
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

// stop stops all servers at once.
func (c *servedCluster) stop() {
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

// close releases the resources of open.
func (c *servedCluster) close() {
	for _, n := range c.nodes {
		for _, l := range n.listeners {
			_ = l.Close() // the servers have already closed theirs
		}
	}
	if c.cluster != nil {
		c.cluster.Close()
	}
}
