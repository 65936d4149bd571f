package live_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// connect gives a client of a server that answers through the handler.
func connect(t *testing.T, h wire.Handler) *mongo.Client {
	t.Helper()
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: h}
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), pipe) }()
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://mock:27017/?directConnection=true").SetDialer(pipe).
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return client
}

func TestBalance(t *testing.T) {
	topology, err := mock.ParseTopology([]byte(`{
      "shards": [{"id": "a"}, {"id": "b", "draining": true}],
      "collections": [
        {"ns": "x.fine", "key": {"k": 1}, "chunks": [{"shard": "a"}]},
        {"ns": "x.draining", "key": {"k": 1}, "noBalance": true, "chunkSizeMB": 64, "chunks": [{"shard": "b"}]}]
    }`))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := mock.New(mock.Config{Topology: topology})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	got, err := live.Balance(t.Context(), connect(t, router.New(cluster, nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := []live.Compliance{
		{Namespace: "x.draining", Violation: "draining", ChunkSizeMB: 64, NoBalance: true},
		{Namespace: "x.fine", Compliant: true, ChunkSizeMB: 128},
	}
	if !slices.Equal(got, want) {
		t.Errorf("balance %+v, want %+v", got, want)
	}
}

// standalone answers hello as a server that is no mongos.
type standalone struct{}

func (standalone) Handle(context.Context, wire.Request) bson.Raw {
	raw, err := bson.Marshal(bson.D{
		{Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true},
		{Key: "maxWireVersion", Value: 25}, {Key: "minWireVersion", Value: 0}, {Key: "ok", Value: 1.0},
	})
	if err != nil {
		return nil
	}
	return raw
}

func TestNotAMongos(t *testing.T) {
	if _, err := live.Balance(t.Context(), connect(t, standalone{})); !errors.Is(err, live.ErrNotSharded) {
		t.Errorf("error %v, want %v", err, live.ErrNotSharded)
	}
}
