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

// The addresses that clients dial: the recorder uses them to distinguish scripts from the test.
const (
	testHost   = "test"
	scriptHost = "script"
)

// testCluster is the cluster of one test, with its connections.
type testCluster struct {
	cluster  *mock.Cluster
	recorder *recorder
	client   *mongo.Client // the client of the test itself
	pipe     *wire.Pipe
	routers  []string // addresses of the routers
	stop     func()
	// scriptRuns counts the runs of scripts.
	scriptRuns int
	// migrationTriggers are the triggers for events of migrations.
	migrationTriggers []*migrationTrigger
	// inventoryBefore is the cluster's content when the last script began.
	inventoryBefore *inventory
	// lostDocuments is the data that earlier scripts have lost.
	lostDocuments []string
}

// startTime returns the time at which the virtual time of a test begins.
func startTime() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// newTestCluster creates a cluster. A saved state takes precedence over the options of the start point.
func newTestCluster(o *Options, s startPoint, seed uint64) (*testCluster, error) {
	cfg := mock.Config{Start: startTime(), Seed: seed, Release: s.clusterOptions.release,
		Parameters: s.clusterOptions.parameters}
	if s.clusterOptions.seed != nil {
		cfg.Seed = *s.clusterOptions.seed
	}
	switch {
	case s.saved != "":
		cfg.Snapshot = s.saved
	case s.clusterOptions.snapshot != "":
		if err := o.LoadClusterSnapshot(&cfg, s.clusterOptions.snapshot); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	default:
		cfg.Topology = s.clusterOptions.topology
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
		_ = server.Serve(context.Background(), w.pipe) // stop makes it return an error
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

// anyFile allows all files for mock.save() and mock.load(): tests have the permissions of the process.
func anyFile(name string, _ bool) (string, error) { return name, nil }

// clientOptions returns the options for a connection of the test or of a script to the cluster. The
// cluster acts as a load balancer, which the driver does not monitor. After a lost connection to a
// monitored server, the driver would wait for half a second of real time before the next check.
func (t *testCluster) clientOptions(host string) *options.ClientOptions {
	return options.Client().ApplyURI(address + "?loadBalanced=true").SetDialer(dialer{t.pipe, host})
}

// memberOptions returns the options for connections to shards at their own addresses.
func (t *testCluster) memberOptions() *options.ClientOptions {
	return options.Client().SetDialer(t.pipe).SetServerMonitoringMode(options.ServerMonitoringModePoll)
}

// dialer connects to the cluster for every address.
type dialer struct {
	pipe *wire.Pipe
	host string
}

// DialContext opens a connection.
func (d dialer) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return d.pipe.DialContext(ctx, network, d.host)
}

// close closes the cluster.
func (t *testCluster) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.client.Disconnect(ctx)
	t.stop()
}

// errOtherServer is the error for scripts that connect to other servers.
var errOtherServer = errors.New("a test reaches no cluster but its own: " + address)
