package mocktest_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/mocktest"
)

// A test of a program that reads and writes a sharded cluster.
func ExampleStart() {
	var t *testing.T // of func TestOrders(t *testing.T)

	uri := mocktest.Start(t, 3, mocktest.WithRelease("7.0"))
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	orders := client.Database("shop").Collection("orders")
	if _, err := orders.InsertOne(t.Context(), bson.D{{Key: "customer", Value: 7}}); err != nil {
		t.Fatal(err)
	}
}

// A test of what the program does when a shard is gone.
func ExampleWithMock() {
	var t *testing.T

	var cluster mocktest.Mock
	uri := mocktest.Start(t, 2, mocktest.WithMock(&cluster))
	cluster.Crash("shard1")
	// ... what the program does with uri, and whether it says so ...
	cluster.Restart("shard1")
	cluster.FailNext("insert", mocktest.Failure{After: 3, CloseConnection: true})
	// ... does it lose the fourth document? ...
	if broken := cluster.Broken(); len(broken) > 0 {
		t.Error(broken)
	}
	_ = uri
}

// A night of balancing takes milliseconds.
func ExampleMock_Advance() {
	var t *testing.T

	var cluster mocktest.Mock
	mocktest.Start(t, 2, mocktest.WithVirtualTime(), mocktest.WithSeed(7), mocktest.WithMock(&cluster))
	cluster.Advance(8 * 60 * 60 * 1e9)
}
