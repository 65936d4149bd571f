package mock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// Clients, faults, the balancer and the event pump on real time at once: nothing
// hangs, and what is left obeys the invariants. The race detector looks on.
func TestManyClientsOnRealTime(t *testing.T) {
	c, err := mock.New(mock.Config{RealTime: true, Parameters: map[string]any{"orphanCleanupDelaySecs": 0,
		"balancerMigrationsThrottlingMs": 0}})
	if err != nil {
		t.Fatal(err)
	}
	r := router.New(c, nil)
	run := func(ctx context.Context, db string, command bson.D) {
		body, err := bson.Marshal(command)
		if err != nil {
			t.Error(err)
			return
		}
		r.Handle(ctx, wire.Request{Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1}})
	}
	run(t.Context(), "config", d("update", "settings", "updates",
		bson.A{d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true)}))
	run(t.Context(), "admin", d("shardCollection", ns, "key", d("k", 1)))

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var clients sync.WaitGroup
	for client := range uint64(4) {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(client, 1))
			for ctx.Err() == nil {
				k := random.IntN(100)
				commands := []struct {
					db      string
					command bson.D
				}{
					{"db", d("insert", "c", "documents", bson.A{d("k", k, "pad", make([]byte, 20_000))})},
					{"db", d("update", "c", "updates", bson.A{d("q", d("k", k), "u", d("$inc", d("v", 1)))})},
					{"db", d("delete", "c", "deletes", bson.A{d("q", d("k", k), "limit", 1)})},
					{"db", d("find", "c", "filter", d("k", d("$gt", k)))},
					{"admin", d("split", ns, "middle", d("k", k))},
					{"admin", d("moveRange", ns, "min", d("k", k), "toShard", fmt.Sprintf("shard%d", random.IntN(3)))},
					{"admin", d("balancerStatus", 1)},
					{"admin", d([]string{"balancerStart", "balancerStop"}[random.IntN(2)], 1, "maxTimeMS", 100)},
					{"admin", d("balancerCollectionStatus", ns)},
					{"admin", d([]string{"mockCrash", "mockRestart"}[random.IntN(2)], []string{"shard0", "shard1",
						"config"}[random.IntN(3)])},
					{"admin", d("mockPartition", bson.A{"shard0", "shard2"})},
					{"admin", d("mockSlow", "shard1", "latency", random.IntN(3))},
					{"admin", d("mockFailNext", "update", "code", 91)},
					{"admin", d("mockHeal", 1)},
					{"admin", d("mockRestart", 1)},
					{"admin", d("mockStepDown", 1)},
				}
				next := commands[random.IntN(len(commands))]
				run(ctx, next.db, next.command)
				if client == 0 && random.IntN(200) == 0 {
					run(ctx, "db", d("drop", "c"))
					run(ctx, "admin", d("shardCollection", ns, "key", d("k", "hashed")))
				}
			}
		})
	}
	clients.Wait()
	run(t.Context(), "admin", d("mockRestart", 1))
	c.Lock()
	if err := c.CheckInvariants(); err != nil {
		t.Error(err)
	}
	c.Unlock()
	c.Close()
}
