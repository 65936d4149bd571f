package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
)

// A zone of two shards beside a third one with more data, as in the server's test of
// SERVER-115962: chunk size 1 MiB, 20 MiB of EU on a, 10 MiB of US on b. Before the fix nothing
// moves, and why names it; with it a round moves 1 MiB until b has 6 and c 4, by plan and by the
// mock.
func TestZonesByRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for version, fix := range map[string]string{
		"8.0.10": "8.0.20", "8.0.19": "8.0.20", "8.0.20": "", "8.2.5": "8.2.6", "8.2.6": "", "8.3": "", "9.0": "",
	} {
		t.Run(version, func(t *testing.T) {
			release, err := catalog.ParseRelease(version)
			if err != nil {
				t.Fatal(err)
			}
			moves := comparePlan(t, zonedTopology(), release, 7)
			want := "a 20, b 10, c 0"
			if fix == "" {
				want = "a 20, b 6, c 4"
			}
			if moves != 0 && fix != "" || moves != 4 && fix == "" {
				t.Errorf("%d moves", moves)
			}
			_, client := newMock(t, zonedTopology(), release, 7)
			checkWhy(t, snapshotOf(t, client), fix)
			f, err := forecast.Make(snapshotOf(t, client), forecast.Options{})
			if err != nil || f.Moves != moves {
				t.Errorf("a forecast has %d moves, %v", f.Moves, err)
			}
			violation := ""
			if fix == "" {
				violation = "chunksImbalance"
			}
			checkStatus(t, client, violation) // wrongly compliant with the old rule
			command(t, client, bson.D{{Key: "balancerStart", Value: 1}})
			command(t, client, bson.D{{Key: "mockAdvance", Value: time.Hour.Milliseconds()}})
			checkStatus(t, client, "")
			s := snapshotOf(t, client)
			var got []string
			for _, id := range []catalog.ShardID{"a", "b", "c"} {
				got = append(got, fmt.Sprintf("%s %d", id, s.Collection("shop.x").Sizes[id].Documents))
			}
			if have := strings.Join(got, ", "); have != want {
				t.Errorf("at the end %s, want %s", have, want)
			}
		})
	}
}

// In an upgrade step by step rounds go by the config servers: newer shards and routers change
// nothing.
func TestZonesByConfigServers(t *testing.T) {
	_, client := newMock(t, zonedTopology(), catalog.Release82.WithPatch(5), 7)
	command(t, client, bson.D{{Key: "balancerStart", Value: 1}})
	after := func(servers bson.E) (on [3]int64) {
		t.Helper()
		command(t, client, bson.D{{Key: "mockInstall", Value: 1}, servers, {Key: "version", Value: "8.2.6"}})
		command(t, client, bson.D{{Key: "mockAdvance", Value: time.Hour.Milliseconds()}})
		for i, id := range []catalog.ShardID{"a", "b", "c"} {
			on[i] = snapshotOf(t, client).Collection("shop.x").Sizes[id].Documents
		}
		return on
	}
	for _, step := range []struct {
		servers bson.E
		want    [3]int64
	}{
		{bson.E{Key: "shard", Value: "a"}, [3]int64{20, 10, 0}}, {bson.E{Key: "shard", Value: "b"}, [3]int64{20, 10, 0}},
		{bson.E{Key: "shard", Value: "c"}, [3]int64{20, 10, 0}}, {bson.E{Key: "routers", Value: true}, [3]int64{20, 10, 0}},
		{bson.E{Key: "configServers", Value: true}, [3]int64{20, 6, 4}},
	} {
		if got := after(step.servers); got != step.want {
			t.Errorf("after %v: %v, want %v", step.servers, got, step.want)
		}
	}
	if v := snapshotOf(t, client).Parts().Version; v != "8.2.6" {
		t.Errorf("the router says %s", v)
	}
}

// checkStatus compares what servers say of whether the collection is balanced.
func checkStatus(t *testing.T, client *mongo.Client, violation string) {
	t.Helper()
	reply, err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "balancerCollectionStatus", Value: "shop.x"}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	compliant, _ := reply.Lookup("balancerCompliant").BooleanOK()
	first, _ := reply.Lookup("firstComplianceViolation").StringValueOK()
	if compliant != (violation == "") || first != violation {
		t.Errorf("balancerCollectionStatus says %s, want %q", reply, violation)
	}
}

func checkWhy(t *testing.T, s *catalog.Snapshot, fix string) {
	t.Helper()
	a := diagnosis.Why(s, diagnosis.Scope{Namespace: "shop.x"})
	for _, f := range slices.Concat(a.Causes, a.Notes) {
		if f.Code != diagnosis.LargestOutsideZone || f.Scope.Zone != "US" {
			continue
		}
		if !strings.Contains(f.Sentence, "SERVER-115962") || !strings.Contains(f.Sentence, "upgrade to "+fix) || fix == "" ||
			len(f.Commands) == 0 || !strings.HasPrefix(f.Commands[0], `sh.moveRange("shop.x", "c"`) {
			t.Errorf("why says %q, %q", f.Sentence, f.Commands)
		}
		return
	}
	if fix != "" {
		t.Error("why does not name the fault")
	}
}

// zonedTopology has chunks of one document of 1 MiB.
func zonedTopology() string {
	var chunks []string
	for i := range 30 {
		shard := "a"
		if i >= 20 {
			shard = "b"
		}
		end := fmt.Sprintf(`"max": {"k": %d}, `, i+1)
		if i == 29 {
			end = ""
		}
		chunks = append(chunks, fmt.Sprintf(`{"shard": %q, %s"bytes": "1MiB", "docs": 1}`, shard, end))
	}
	return `{"shards": [{"id": "a", "zones": ["EU"]}, {"id": "b", "zones": ["US"]}, {"id": "c", "zones": ["US"]}],
	 "settings": {"chunkSizeMB": 1, "balancer": {"mode": "off"}}, "collections": [{"ns": "shop.x", "key": {"k": 1}, "zones": [
	  {"zone": "EU", "min": {"k": {"$minKey": 1}}, "max": {"k": 20}}, {"zone": "US", "min": {"k": 20}, "max": {"k": {"$maxKey": 1}}}],
	 "chunks": [` + strings.Join(chunks, ", ") + `]}]}`
}
