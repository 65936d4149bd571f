// Package mocktest provides tests with clients of mock clusters. The clients use the wire protocol over
// an in-memory connection.
package mocktest

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// New creates a cluster from the text of a topology file, and a client of it. Both are closed at the end
// of the test.
func New(t testing.TB, topology string, c mock.Config) (*mock.Cluster, *mongo.Client) {
	t.Helper()
	cluster := Cluster(t, topology, c)
	return cluster, Connect(t, router.New(cluster, nil))
}

// Cluster creates a cluster from the text of a topology file, or from c if the text is empty. It is
// closed at the end of the test.
func Cluster(t testing.TB, topology string, c mock.Config) *mock.Cluster {
	t.Helper()
	if topology != "" {
		var err error
		if c.Topology, err = mock.ParseTopology([]byte(topology)); err != nil {
			t.Fatalf("%v in %s", err, topology)
		}
	}
	cluster, err := mock.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

// Connect returns a client of a server with the given handler. At the end of the test the client is
// disconnected; the test fails if the server then ends with an error. more changes the client's options.
func Connect(t testing.TB, h wire.Handler, more ...func(*options.ClientOptions)) *mongo.Client {
	t.Helper()
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: h}
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), pipe) }()
	settings := options.Client().ApplyURI("mongodb://mock:27017/?directConnection=true").
		SetDialer(pipe).SetServerMonitoringMode(options.ServerMonitoringModePoll)
	for _, change := range more {
		change(settings)
	}
	client, err := mongo.Connect(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
		if err := errors.Join(server.Shutdown(context.Background()), <-done); err != nil {
			t.Error(err)
		}
	})
	return client
}
