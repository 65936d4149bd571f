package mocktest_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/mocktest"
)

func connect(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetHeartbeatInterval(500 * time.Millisecond).
		SetServerMonitoringMode(options.ServerMonitoringModePoll)) // a streaming one may end ten seconds late
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	return client
}

func run(t *testing.T, client *mongo.Client, command ...bson.E) bson.Raw {
	t.Helper()
	raw, err := client.Database("admin").RunCommand(t.Context(), bson.D(command)).Raw()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return raw
}

func shards(t *testing.T, client *mongo.Client) int {
	t.Helper()
	values, err := run(t, client, bson.E{Key: "listShards", Value: 1}).Lookup("shards").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	return len(values)
}

func TestStart(t *testing.T) {
	const topology = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}]}`
	for name, c := range map[string]struct {
		options []mocktest.Option
		version string
		shards  int
	}{
		"as it comes": {nil, "8.0.", 2},
		"a release":   {[]mocktest.Option{mocktest.WithRelease("5.0")}, "5.0.", 2},
		"a topology":  {[]mocktest.Option{mocktest.WithTopology(topology)}, "8.0.", 4},
	} {
		t.Run(name, func(t *testing.T) {
			client := connect(t, mocktest.Start(t, 2, c.options...))
			version := run(t, client, bson.E{Key: "buildInfo", Value: 1}).Lookup("version").StringValue()
			if n := shards(t, client); n != c.shards || !strings.HasPrefix(version, c.version) {
				t.Errorf("%d shards of %s", n, version)
			}
		})
	}
}

// A cluster that was saved is there again, with its documents.
func TestStartFromSnapshot(t *testing.T) {
	var m mocktest.Mock
	file := filepath.Join(t.TempDir(), "saved")
	client := connect(t, mocktest.Start(t, 3, mocktest.WithMock(&m)))
	if _, err := client.Database("app").Collection("orders").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 7}}); err != nil {
		t.Fatal(err)
	}
	m.Save(file)
	again := connect(t, mocktest.Start(t, 1, mocktest.WithSnapshot(file)))
	n, err := again.Database("app").Collection("orders").CountDocuments(t.Context(), bson.D{{Key: "_id", Value: 7}})
	if n != 1 || err != nil || shards(t, again) != 3 {
		t.Errorf("%d documents, %v", n, err)
	}
}

func TestVirtualTime(t *testing.T) {
	var m mocktest.Mock
	client := connect(t, mocktest.Start(t, 1, mocktest.WithVirtualTime(), mocktest.WithSeed(7), mocktest.WithMock(&m)))
	m.Advance(48 * time.Hour)
	now := run(t, client, bson.E{Key: "hello", Value: 1}).Lookup("localTime").Time().UTC()
	if begin := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC); now.Before(begin) || now.After(begin.Add(time.Minute)) {
		t.Error(now)
	}
}

// Each fault does what it says, and is over afterwards.
func TestFaults(t *testing.T) {
	var m mocktest.Mock
	uri := mocktest.Start(t, 2, mocktest.WithMock(&m), mocktest.WithParameter("orphanCleanupDelaySecs", 0))
	client := connect(t, uri+"?retryReads=false&retryWrites=false")
	orders := client.Database("app").Collection("orders")
	count := func() error { _, err := orders.CountDocuments(t.Context(), bson.D{}); return err }
	run(t, client, bson.E{Key: "enableSharding", Value: "app"})
	run(t, client, bson.E{Key: "shardCollection", Value: "app.orders"}, bson.E{Key: "key", Value: bson.D{{Key: "k", Value: 1}}})
	for name, fault := range map[string]struct{ begin, end func() }{
		"a failure":    {func() { m.FailNext("aggregate", mocktest.Failure{Code: 50}) }, func() {}},
		"a connection": {func() { m.FailNext("aggregate", mocktest.Failure{CloseConnection: true}) }, func() {}},
		"a crash": {func() { m.Crash("shard0"); m.Crash("shard1") },
			func() { m.Restart("shard0"); m.Restart("shard1") }},
		"a partition": {func() { m.Partition("router", "shard0"); m.Partition("router", "shard1") }, m.Heal},
	} {
		t.Run(name, func(t *testing.T) {
			fault.begin()
			if err := count(); err == nil {
				t.Error("nothing failed")
			}
			fault.end()
			if err := count(); err != nil {
				t.Error(err)
			}
		})
	}
	m.FailNext("aggregate", mocktest.Failure{After: 1, Times: 2, Code: 50})
	for i, fails := range []bool{false, true, true, false} {
		if err := count(); (err != nil) != fails {
			t.Errorf("the %d. count: %v", i+1, err)
		}
	}
	m.Slow("shard0", 0)
	m.StepDown()
	m.Fill("app.orders", 1<<20)
	if broken := m.Broken(); len(broken) > 0 {
		t.Error(broken)
	}
}
