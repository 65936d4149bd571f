package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
	"shardsh/balancer/mock/wire"
)

// clientOf connects a client. Its monitor polls: a streaming one now and then takes ten seconds to notice
// that its client is done.
func clientOf(t *testing.T, address string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address + "/?directConnection=true").
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// turnOf has somebody else take the turn.
func turnOf(t *testing.T, client *mongo.Client, doing string) *live.LeasedCluster {
	t.Helper()
	turn, err := live.Acquire(t.Context(), client, live.NewCommandRunner(client), live.Holder{Host: "ops1", PID: 42, Doing: doing})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func noLease(t *testing.T, client *mongo.Client) {
	t.Helper()
	if n, err := live.LeaseCollectionOf(client).CountDocuments(t.Context(), bson.D{}); n != 0 || err != nil {
		t.Errorf("%d leases stay, %v", n, err)
	}
}

func advance(t *testing.T, client *mongo.Client, d time.Duration) {
	t.Helper()
	command := bson.D{{Key: "mockAdvance", Value: d.Milliseconds()}}
	if err := client.Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
		t.Fatal(err)
	}
}

// While somebody else is at work, who it is is told and nothing is done; a dry run
// may look. What a killed one has left switched off is on again at the end.
func TestApplyTurn(t *testing.T) {
	address, plan := heaped(t)
	client := clientOf(t, address)
	killed := turnOf(t, client, "balance shop.orders")
	if err := killed.SetBalancing(t.Context(), []string{"shop.orders"}, false); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runProgram(t, "", "apply", plan, address, "--yes")
	if code != exitFailure || !strings.Contains(stderr, "balance shop.orders, process 42 on ops1, since 20") ||
		ownersOf(t, address) != "aaaaaaa" {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := runProgram(t, "", "apply", plan, address, "--dry-run"); code != exitOK {
		t.Errorf("a dry run: exit code %d, %s", code, stderr)
	}
	advance(t, client, 2*time.Minute)
	code, stdout, stderr = runProgram(t, "", "apply", plan, address, "--yes", "--on-change", "replan")
	if code != exitOK || ownersOf(t, address) != "bcbaaaa" {
		t.Errorf("after the lease ran out: exit code %d, %s%s", code, stdout, stderr)
	}
	off, err := client.Database("config").Collection("collections").CountDocuments(t.Context(),
		bson.D{{Key: "noBalance", Value: true}})
	if off != 0 || err != nil {
		t.Errorf("%d collections are switched off, %v", off, err)
	}
	noLease(t, client)
}

// A run whose turn somebody else has taken ends before its next move, and says why.
func TestApplyLosesItsTurn(t *testing.T) {
	var client *mongo.Client
	var moves atomic.Int32
	address, plan := heaped(t, func(s *setting) {
		s.around = func(next wire.Handler) wire.Handler {
			return handlerFunc(func(c context.Context, r wire.Request) bson.Raw {
				reply := next.Handle(c, r)
				if r.Command == "moveRange" && moves.Add(1) == 1 {
					advance(t, client, 2*time.Minute)
					turnOf(t, client, "balance shop.orders")
				}
				return reply
			})
		}
	})
	client = clientOf(t, address)
	code, stdout, stderr := runProgram(t, "", "apply", plan, address, "--yes")
	if code != exitFailure || !strings.Contains(stderr, "the lease was lost") || !strings.Contains(stderr, "--resume") ||
		moves.Load() != 1 {
		t.Errorf("exit code %d after %d moves, %s%s", code, moves.Load(), stdout, stderr)
	}
	advance(t, client, 2*time.Minute)
	journal := strings.TrimSuffix(plan, ".json") + ".journal"
	code, stdout, stderr = runProgram(t, "", "apply", "--resume", journal, address, "--yes")
	if code != exitOK || ownersOf(t, address) != "bcbaaaa" {
		t.Errorf("when it goes on: exit code %d, %s%s", code, stdout, stderr)
	}
	noLease(t, client)
}
