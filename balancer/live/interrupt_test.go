package live_test

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// A move that is copying is stopped: on its donor, and among the operations of the
// mongos, where it is known by its comment.
func TestInterrupt(t *testing.T) {
	for _, release := range testedReleases() {
		t.Run(release.String(), func(t *testing.T) {
			t.Parallel()
			topology, err := mock.ParseTopology([]byte(variety))
			if err != nil {
				t.Fatal(err)
			}
			made, err := mock.New(mock.Config{Topology: topology, Version: release, RealTime: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(made.Close)
			client := mocktest.Connect(t, router.New(made, nil))
			turn, err := live.Acquire(t.Context(), client, live.NewCommandRunner(client), live.Self("balance"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = turn.End(context.Background()) }()
			var routing balancer.Routing
			turn.With(func(c balancer.Cluster) { routing, err = c.Routing(t.Context(), "shop.hashed") })
			if err != nil {
				t.Fatal(err)
			}
			first := routing.Table.At(0)
			m := policy.Migration{Namespace: "shop.hashed", UUID: routing.Collection.UUID, Min: first.Min, From: first.Shard,
				To: "c", MaxChunkSizeBytes: 128 << 20}
			if found, err := turn.Interrupt(t.Context()); err != nil || found != 0 {
				t.Errorf("before it: %d, %v", found, err)
			}
			ended := make(chan error, 1)
			go func() { ended <- turn.Move(t.Context(), m) }()
			found := 0
			for err == nil && found == 0 {
				select {
				case err := <-ended:
					t.Fatalf("it has ended before it was found: %v", err)
				default:
					found, err = turn.Interrupt(t.Context())
				}
			}
			if err != nil || !strings.HasPrefix(turn.Comment(), "shardsh ") {
				t.Errorf("%v, comment %q", err, turn.Comment())
			}
			if err := <-ended; !mongoerr.Is(err, mongoerr.Interrupted) {
				t.Errorf("the move ended with %v", err)
			}
			n, err := client.Database("config").Collection("changelog").
				CountDocuments(t.Context(), bson.D{e("what", "moveChunk.commit")})
			if err != nil || n != 0 {
				t.Errorf("%d moves were made, %v", n, err)
			}
		})
	}
}
