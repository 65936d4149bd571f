package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

const threeShards = `{"shards": [{"id": "shard0"}, {"id": "shard1"}, {"id": "shard2"}]}`

func (m *model) count(t *testing.T, coll string, filter bson.D) int64 {
	t.Helper()
	n, _ := m.ok(t, "config", d("count", coll, "query", filter)).Lookup("n").AsInt64OK()
	return n
}

// scattered shards db.c into 30 small chunks that lie on the shards in turn.
func (m *model) scattered(t *testing.T) {
	t.Helper()
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("shardCollection", ns, "key", d("k", 1)))
	for k := range 30 {
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", k, "k", k, "pad", make([]byte, 40_000))}))
		if k > 0 {
			m.ok(t, "admin", d("moveRange", ns, "min", d("k", k), "max", d("k", k+1), "toShard", []string{"shard0", "shard1",
				"shard2"}[k%3]))
		}
	}
}

func TestDefragmentationOnTheMock(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{Parameters: map[string]any{"orphanCleanupDelaySecs": 0}})
	m.scattered(t)
	m.ok(t, "admin", d("configureCollectionBalancing", ns, "chunkSize", 1, "defragmentCollection", true))
	m.ok(t, "admin", d("balancerStart", 1))
	m.sleep(10 * time.Minute)
	if n := m.count(t, "collections", d("defragmentCollection", d("$exists", true))); n != 0 {
		t.Fatal("the defragmentation is not over")
	}
	// 30 × 40 kB in chunks of more than a quarter of 1 MiB: four at most.
	if n := m.count(t, "chunks", d()); n > 4 {
		t.Errorf("%d chunks are left", n)
	}
	if n := m.count(t, "chunks", d("estimatedDataSizeBytes", d("$exists", true))); n != 0 {
		t.Errorf("%d chunks keep their estimate", n)
	}
	reply := m.ok(t, "db", d("count", "c"))
	if n, _ := reply.Lookup("n").AsInt64OK(); n != 30 {
		t.Errorf("%d documents, want 30", n)
	}
}

// A split by hand in the midst of the second phase makes what the phase knows
// wrong: the shard says so, with the version it wants, and the phase begins
// again instead of trying for ever.
func TestDefragmentationSurvivesASplitByHand(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{Parameters: map[string]any{"orphanCleanupDelaySecs": 0}})
	m.scattered(t)
	m.ok(t, "admin", d("configureCollectionBalancing", ns, "chunkSize", 1, "defragmentCollection", true))
	m.ok(t, "admin", d("balancerStart", 1))
	for phase := ""; phase != "moveAndMergeChunks"; m.sleep(100 * time.Millisecond) {
		phase, _ = m.ok(t, "admin", d("balancerCollectionStatus", ns)).Lookup("details", "currentPhase").StringValueOK()
	}
	for k := range 30 {
		m.run("admin", d("split", ns, "middle", d("k", float64(k)+0.5)))
	}
	m.sleep(20 * time.Minute)
	if n := m.count(t, "collections", d("defragmentCollection", d("$exists", true))); n != 0 {
		t.Fatal("the defragmentation is not over")
	}
}

func TestAutoMergerRound(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	m.ok(t, "admin", d("shardCollection", ns, "key", d("k", 1)))
	for k := range 20 {
		m.ok(t, "admin", d("split", ns, "middle", d("k", k)))
	}
	m.sleep(59 * time.Minute)
	if n := m.count(t, "chunks", d("min.k", d("$exists", true))); n != 21 {
		t.Fatalf("%d chunks before the second round, want 21", n)
	}
	m.sleep(2 * time.Minute)
	if n := m.count(t, "chunks", d("min.k", d("$exists", true))); n != 1 {
		t.Errorf("%d chunks after it, want one", n)
	}
	if n := m.count(t, "changelog", d("what", "autoMerge.start")); n != 2 {
		t.Errorf("%d rounds are logged, want two", n)
	}
	if n := m.count(t, "changelog", d("what", "autoMerge")); n != 1 {
		t.Errorf("%d merges are logged, want one", n)
	}
}

// rules/01-rounds-and-settings §1.9: balancerStop ends the auto-merger at once, not with the next
// round; the order of its log entries is that of its steps.
func TestBalancerStopDisablesTheAutoMergerAtOnce(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	m.sleep(time.Second)
	began := m.cluster.Now()
	m.ok(t, "admin", d("balancerStop", 1))
	disabled := m.first(t, "config", d("find", "changelog", "filter", d("what", "autoMerge.disable")))
	if disabled == nil {
		t.Fatal("no entry in the change log")
	}
	if at := disabled.Lookup("time").Time(); at.Sub(began) > time.Second {
		t.Errorf("disabled at %v, %v after the command began", at, at.Sub(began))
	}
	m.sleep(30 * time.Second)
	if n := m.count(t, "changelog", d("what", "autoMerge.disable")); n != 1 {
		t.Errorf("%d entries, want one: only a change is logged", n)
	}
	if n := m.count(t, "actionlog", d("what", "balancer.stop", "details", d())); n != 1 {
		t.Errorf("%d entries of balancer.stop", n)
	}
}
