package main

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock"
)

// recordedState is the cluster that earlier verbs asked when they were recorded on a real 8.0.10 cluster.
// A plain collection stands for its time series.
const recordedState = `{"shards": [{"id": "shard0"}, {"id": "shard1", "zones": ["EU"]}, {"id": "shard2"}],
"settings": {"balancer": {"mode": "off"}}, "databases": [{"name": "shop", "primary": "shard0"}, {"name": "other", "primary": "shard1"}],
"collections": [
{"ns": "shop.orders", "key": {"k": 1}, "chunkSizeMB": 1, "chunks": [
	{"shard": "shard0", "max": {"k": 100}, "bytes": "4MB", "docs": 1000}, {"shard": "shard0", "max": {"k": 200}, "bytes": "4MB", "docs": 1000},
	{"shard": "shard0", "max": {"k": 300}, "bytes": "4MB", "docs": 1000}, {"shard": "shard0", "bytes": "4MB", "docs": 1000}]},
{"ns": "shop.hashed", "key": {"h": "hashed"}, "chunks": [{"shard": "shard0", "max": {"h": 0}}, {"shard": "shard1"}]},
{"ns": "shop.zoned", "key": {"region": 1, "n": 1}, "zones": [{"zone": "EU", "min": {"region": "EU", "n": {"$minKey": 1}},
	"max": {"region": "EU", "n": {"$maxKey": 1}}}], "chunks": [{"shard": "shard1"}]},
{"ns": "shop.ts", "key": {"meta": 1}, "chunks": [{"shard": "shard0"}]}
]}`

// recordedCommands is how many commands each verb sent to the real cluster, without what the driver asks.
// check of a cluster with a shard that is down is not in it: its recording ends after two of five statuses.
var recordedCommands = map[string]map[string]int{
	"idle":      {"check": 21, "forecast": 34, "map": 20, "plan": 34, "report": 38, "snapshot": 45, "status": 43, "watch": 34, "why": 45},
	"migrating": {"check": 21, "forecast": 34, "map": 20, "plan": 34, "report": 38, "snapshot": 45, "status": 43, "watch": 34, "why": 45},
	"pending-deletion": {
		"check": 21, "forecast": 40, "map": 20, "plan": 40, "report": 44, "snapshot": 51, "status": 43, "watch": 40, "why": 51,
	},
	"window-shut": {"check": 65, "forecast": 40, "map": 20, "plan": 40, "report": 44, "snapshot": 51, "status": 43, "watch": 40, "why": 51},
	"draining":    {"check": 22, "forecast": 46, "map": 20, "plan": 44, "report": 49, "snapshot": 60, "status": 46, "watch": 44, "why": 60},
	"shard-down":  {"forecast": 49, "plan": 49, "report": 38, "snapshot": 48, "watch": 49, "why": 48},
}

// TestNoMoreCommandsThanRecorded: verbs send at most as many commands as they did when a real cluster's
// answers were recorded, in the same situation.
func TestNoMoreCommandsThanRecorded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	move := bson.D{{Key: "moveRange", Value: "shop.orders"}, {Key: "min", Value: bson.D{{Key: "k", Value: 100}}}, {Key: "toShard", Value: "shard2"}}
	failPoint := func(name string) bson.D {
		return bson.D{{Key: "configureFailPoint", Value: name}, {Key: "mode", Value: "alwaysOn"}}
	}
	run := func(t *testing.T, client *mongo.Client, command bson.D) {
		t.Helper()
		if err := client.Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
			t.Fatal(err)
		}
	}
	situations := map[string]func(t *testing.T, client *mongo.Client){
		"idle": func(*testing.T, *mongo.Client) {},
		"migrating": func(t *testing.T, client *mongo.Client) {
			run(t, client, failPoint("moveChunkHangAtStep4"))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			client.Database("admin").RunCommand(ctx, append(slices.Clone(move), bson.E{Key: "maxTimeMS", Value: 2000}))
		},
		"pending-deletion": func(t *testing.T, client *mongo.Client) {
			run(t, client, failPoint("suspendRangeDeletion"))
			run(t, client, move)
		},
		"window-shut": func(t *testing.T, client *mongo.Client) {
			run(t, client, move)
			run(t, client, bson.D{{Key: "balancerStart", Value: 1}})
			opens := time.Now().Add(2 * time.Hour) // plans simulate the rounds until then
			_, err := client.Database("config").Collection("settings").UpdateOne(t.Context(), bson.D{{Key: "_id", Value: "balancer"}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "activeWindow", Value: bson.D{{Key: "start", Value: opens.Format("15:04")},
					{Key: "stop", Value: opens.Add(time.Hour).Format("15:04")}}}}}})
			if err != nil {
				t.Fatal(err)
			}
		},
		"draining": func(t *testing.T, client *mongo.Client) {
			run(t, client, move)
			run(t, client, bson.D{{Key: "removeShard", Value: "shard2"}})
		},
		"shard-down": func(t *testing.T, client *mongo.Client) { run(t, client, bson.D{{Key: "mockCrash", Value: "shard1"}}) },
	}
	for _, situation := range slices.Sorted(maps.Keys(recordedCommands)) {
		t.Run(situation, func(t *testing.T) {
			var counts tally
			counts.reset()
			address := serve(t, recordedState, func(s *setting) {
				s.around, s.mock = counts.around, mock.Config{Parameters: map[string]any{"enableTestCommands": true}}
			}).address
			situations[situation](t, clientOf(t, address))
			for verb, args := range map[string][]string{
				"check": {"check", address, "--quiet"}, "forecast": {"forecast", address, "--quiet"}, "plan": {"plan", address, "--quiet"},
				"map": {"map", address, "--ns", "shop.orders"}, "report": {"report", address, "-o", t.TempDir() + "/r.html"},
				"snapshot": {"snapshot", address, "-o", t.TempDir() + "/s.snap"}, "watch": {"watch", address, "--once"},
				"why": {"why", address, "--quiet"}, "status": {address, "--quiet", "--eval", "sh.status(); sh.balancerSummary()"},
			} {
				most, recorded := recordedCommands[situation][verb]
				if !recorded {
					continue
				}
				counts.reset()
				code, _, stderr := runProgram(t, "", args...)
				if code != exitOK && code != exitFindings {
					t.Errorf("%s: exit code %d: %s", verb, code, stderr)
				}
				sent, list := counts.sum()
				t.Logf("%s: %d commands, %d recorded", verb, sent, most)
				if sent > most {
					t.Errorf("%s: %d commands, want at most %d, as recorded:%s", verb, sent, most, list)
				}
			}
		})
	}
}
