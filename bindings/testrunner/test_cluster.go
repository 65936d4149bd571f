package testrunner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// address is the address of the test's cluster as scripts see it.
const address = "mongodb://mock:27017/"

// What clients dial: the recorder distinguishes scripts from the test by it.
const (
	testHost   = "test"
	scriptHost = "script"
)

// testCluster is the cluster of one test, with its connections.
type testCluster struct {
	cluster  *mock.Cluster
	recorder *recorder
	client   *mongo.Client // the test's own
	pipe     *wire.Pipe
	routers  []string // their addresses
	stop     func()
	// scriptRuns counts the scripts that were run.
	scriptRuns int
	// migrations are what happens at events of migrations.
	migrations []*migrationTrigger
	// inventoryBefore is what the cluster held when the last script began.
	inventoryBefore *inventory
	// lost is what earlier scripts have lost.
	lost []string
}

// epoch is where the virtual time of a test begins.
func epoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// newTestCluster makes a cluster. A saved state goes before what the start says.
func newTestCluster(o *Options, s startPoint, seed uint64) (*testCluster, error) {
	cfg := mock.Config{Start: epoch(), Seed: seed, Version: s.start.release, Parameters: s.start.parameters}
	if s.start.seed != nil {
		cfg.Seed = *s.start.seed
	}
	switch {
	case s.saved != "":
		cfg.Snapshot = s.saved
	case s.start.snapshot != "":
		if err := o.LoadSnapshot(&cfg, s.start.snapshot); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	default:
		cfg.Topology = s.start.topology
	}
	cluster, err := mock.New(cfg)
	if err != nil {
		return nil, err
	}
	n := 1
	if cfg.Topology != nil {
		n = max(n, cfg.Topology.Routers)
	}
	routers, err := router.NewRouters(router.New(cluster, nil, router.WithSnapshots(anyFile)), n)
	if err != nil {
		cluster.Close()
		return nil, err
	}
	w := &testCluster{cluster: cluster, pipe: wire.NewPipe(), routers: routers.Names()}
	w.recorder = &recorder{handler: routers, clock: cluster.Clock()}
	server := &wire.Server{Handler: w.recorder}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(context.Background(), w.pipe) // stop ends it, with an error that says so
	}()
	w.stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = w.pipe.Close()
		cluster.Close()
		_ = server.Shutdown(ctx)
		<-served
	}
	if w.client, err = mongo.Connect(w.clientOptions(testHost)); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

// anyFile is for mock.save() and mock.load(): tests may do what the process may.
func anyFile(name string, _ bool) (string, error) { return name, nil }

// clientOptions open a connection to the cluster for the test or for a script: as one to
// a load balancer, which the driver does not watch. Of a server that it watches it
// lets half a second go by, really, before it looks again when a connection was cut.
func (w *testCluster) clientOptions(host string) *options.ClientOptions {
	return options.Client().ApplyURI(address + "?loadBalanced=true").SetDialer(dialer{w.pipe, host})
}

// memberOptions are the settings by which shards are reached, at their own addresses.
func (w *testCluster) memberOptions() *options.ClientOptions {
	return options.Client().SetDialer(w.pipe).SetServerMonitoringMode(options.ServerMonitoringModePoll)
}

// dialer reaches the cluster, whatever the address.
type dialer struct {
	pipe *wire.Pipe
	host string
}

// DialContext opens a connection.
func (d dialer) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return d.pipe.DialContext(ctx, network, d.host)
}

// close ends the cluster.
func (w *testCluster) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.client.Disconnect(ctx)
	w.stop()
}

// errElsewhere is for scripts that open connections to other servers.
var errElsewhere = errors.New("a test reaches no cluster but its own: " + address)
