package live_test

import (
	"context"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
)

// Leaving does not wait for a monitor whose handshake hangs, which the driver does for
// as long as a connection may take.
func TestDisconnectFromWhoSaysNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 100 { // it takes a bad moment
		client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + l.Addr().String()).
			SetConnectTimeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_ = live.Disconnect(context.Background(), client)
		if took := time.Since(began); took > 20*time.Second {
			t.Fatalf("it took %v", took)
		}
		_ = c.Close()
	}
}
