package mock_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// Codes that commands fail with.
const (
	hostUnreachable = 6
	shardNotFound   = 70
)

// A shard that has crashed answers nothing: what needs it fails, what does not
// goes on, and after a restart all is as it was.
func TestCrashedShard(t *testing.T) {
	find := func(filter bson.D) bson.D { return d("find", "c", "filter", filter) }
	tests := []struct {
		name    string
		db      string
		command bson.D
		code    int64 // 0: it succeeds all the same
	}{
		{"a read of its documents", "db", find(d("a", 50)), 6},
		{"a read of others", "db", find(d("a", 1)), 0},
		{"a broadcast read", "db", find(d("b", 1)), 6},
		{"a count of everything", "db", d("count", "c"), 6},
		{"an aggregation", "db", d("aggregate", "c", "pipeline", bson.A{d("$match", d("b", 1))}, "cursor", d()), 6},
		{"a lookup into it", "db", d("aggregate", "plain", "pipeline",
			bson.A{d("$lookup", d("from", "c", "localField", "_id", "foreignField", "b", "as", "x"))}, "cursor", d()), 6},
		{"a distinct", "db", d("distinct", "c", "key", "b"), 6},
		{"findAndModify", "db", d("findAndModify", "c", "query", d("a", 50), "remove", true), 6},
		{"its statistics", "db", d("collStats", "c"), 133},
		{"data distribution", "admin", d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d())}, "cursor",
			d()), 133},
		{"a split of its chunk", "admin", d("split", ns, "middle", d("a", 50)), 6},
		{"a split of another's chunk", "admin", d("split", ns, "middle", d("a", 10)), 0},
		{"a merge on it", "admin", d("mergeAllChunksOnShard", ns, "shard", "shard1"), 6},
		{"a move from it", "admin", d("moveRange", ns, "min", d("a", 40), "max", d("a", 80), "toShard", "shard0"), 6},
		{"a move to it", "admin", d("moveRange", ns, "min", d("a", 80), "max", d("a", 120), "toShard", "shard1"), 6},
		{"a new index", "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("b", 1), "name", "b")}), 6},
		{"a drop", "db", d("drop", "c"), 6},
		{"resharding", "admin", d("reshardCollection", ns, "key", d("b", 1)), 6},
		{"the collection's status", "admin", d("balancerCollectionStatus", ns), 133},
		{"the balancer's status", "admin", d("balancerStatus", 1), 0},
		{"the catalog", "config", d("find", "shards"), 0},
	}
	m := orders(t)
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("mockCrash", "shard1"))
	for _, test := range tests {
		reply, ok := m.run(test.db, test.command)
		if code, _ := reply.Lookup("code").AsInt64OK(); code != test.code || ok != (test.code == 0) {
			t.Errorf("%s answered %s, want code %d", test.name, reply, test.code)
		}
	}
	for _, write := range []bson.D{
		d("insert", "c", "documents", bson.A{d("_id", "new", "a", 50)}),
		d("update", "c", "updates", bson.A{d("q", d("b", 1), "u", d("$set", d("v", 1)), "multi", true)}),
		d("delete", "c", "deletes", bson.A{d("q", d("a", 50), "limit", 1)}),
	} {
		reply, _ := m.run("db", write)
		if writeErrorCode(reply) != hostUnreachable {
			t.Errorf("%s answered %s", write[0].Key, reply)
		}
	}
	m.refused(t, "admin", d("enableSharding", "new", "primaryShard", "shard1"), hostUnreachable)
	m.ok(t, "admin", d("enableSharding", "new2")) // another shard takes it
	m.ok(t, "admin", d("mockRestart", "shard1"))
	if n := m.documents(t, "c"); n != 120 {
		t.Errorf("%d documents, want the 120 there were", n)
	}
	if n, _ := m.ok(t, "db", d("count", "c", "query", d("v", 1))).Lookup("n").AsInt64OK(); n != 0 {
		t.Errorf("a refused update changed %d documents", n)
	}
}

// The balancer can't do its rounds while a shard is away: its statistics fail,
// the round ends, and the log of actions has the error.
func TestBalancerMeetsACrashedShard(t *testing.T) {
	m := newCluster(t, virtualTopology, mock.Config{})
	m.ok(t, "admin", d("mockCrash", "shard1"))
	m.ok(t, "admin", d("balancerStart", 1))
	m.sleep(5 * time.Minute)
	if n := m.count(t, "actionlog", d("details.errorOccurred", true, "details.errmsg",
		d("$regex", "^Error connecting to"))); n == 0 {
		t.Error("no failed round in the action log")
	}
	if n := m.count(t, "changelog", d("what", "moveChunk.from")); n != 0 {
		t.Errorf("%d migrations with a shard away", n)
	}
	m.ok(t, "admin", d("mockRestart", 1))
	m.sleep(time.Hour)
	if reply := m.ok(t, "admin", d("balancerCollectionStatus", ns)); !reply.Lookup("balancerCompliant").Boolean() {
		t.Errorf("not balanced after the restart: %s", reply)
	}
}

// virtualTopology is 4 GiB on one of two shards, the balancer off.
const virtualTopology = `{
  "settings": {"balancer": {"mode": "off"}},
  "shards": [{"id": "shard0"}, {"id": "shard1"}],
  "databases": [{"name": "db", "primary": "shard0"}],
  "collections": [{"ns": "db.c", "key": {"k": 1}, "chunkSizeMB": 128, "chunks": [
    {"shard": "shard0", "max": {"k": 1000}, "bytes": "2GiB", "docs": 2000000},
    {"shard": "shard0", "max": {"k": 2000}, "bytes": "2GiB", "docs": 2000000},
    {"shard": "shard0"}]}]
}`

// rules/02-migration-and-metadata §5.6: what a migration ends as when a node goes away, by the moment,
// and what is left for later.
func TestMigrationMeetsFaults(t *testing.T) {
	copying := 30 * time.Millisecond
	after := 250 * time.Millisecond // the commit, and before the range deletion of 900 s
	started := []string{"moveChunk.start a"}
	tests := []struct {
		name  string
		at    time.Duration
		fault bson.D
		code  int32
		owner string
		// while the node is away and after it is back
		orphans, orphansBack int64
		log                  []string
	}{
		{name: "the donor crashes while copying", at: copying, fault: d("mockCrash", "a"), code: 6, owner: "a",
			orphans: 10, log: append(slices.Clone(started), "moveChunk.to b aborted")},
		{name: "the recipient crashes while copying", at: copying, fault: d("mockCrash", "b"), code: 6, owner: "a",
			orphans: 10, log: append(slices.Clone(started), "moveChunk.error a", "moveChunk.from a aborted")},
		{name: "they lose each other while copying", at: copying, fault: d("mockPartition", bson.A{"b", "a"}), code: 6,
			owner:   "a",
			orphans: 10, log: append(slices.Clone(started), "moveChunk.to b aborted", "moveChunk.error a",
				"moveChunk.from a aborted")},
		{name: "the donor loses the config server", at: copying, fault: d("mockPartition", bson.A{"a", "config"}), code: 6,
			owner:   "a",
			orphans: 10, log: append(slices.Clone(started), "moveChunk.to b aborted")},
		{name: "the config server crashes", at: copying, fault: d("mockCrash", "config"), code: 6, owner: "a",
			orphans: 10, log: started},
		{name: "the donor crashes before it begins", at: 5 * time.Millisecond, fault: d("mockCrash", "a"), code: 6,
			owner: "a"},
		{name: "the recipient crashes before it begins", at: 5 * time.Millisecond, fault: d("mockCrash", "b"), code: 6,
			owner: "a",
			log:   append(slices.Clone(started), "moveChunk.error a", "moveChunk.from a aborted")},
		{name: "the donor crashes after the commit", at: after, fault: d("mockCrash", "a"), owner: "b", orphans: 10,
			log: append(slices.Clone(started), "moveChunk.to b success", "moveChunk.commit a", "moveChunk.from a success")},
		{name: "a shard that has no part in it crashes", at: copying, fault: d("mockCrash", "c"), owner: "b", orphans: 0,
			log: append(slices.Clone(started), "moveChunk.to b success", "moveChunk.commit a", "moveChunk.from a success")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := newMeeting(t, nil)
			x.start(mock.MoveRequest{})
			x.sleep(test.at)
			x.ok(t, "admin", test.fault)
			x.sleep(time.Hour)
			if !x.ended || codeOf(t, x.errs[0]) != test.code {
				t.Errorf("ended %v with %v, want code %d", x.ended, x.errs, test.code)
			}
			if n := x.orphaned(); n != test.orphans {
				t.Errorf("%d orphans while the node is away, want %d", n, test.orphans)
			}
			x.ok(t, "admin", d("mockRestart", 1))
			x.ok(t, "admin", d("mockHeal", 1))
			x.sleep(time.Hour)
			if n := x.orphaned(); n != test.orphansBack {
				t.Errorf("%d orphans after it is back", n)
			}
			if got := x.owner(); got != test.owner {
				t.Errorf("%s owns the range, want %s", got, test.owner)
			}
			if n := x.visible(); n != 10 {
				t.Errorf("%d documents are visible, want 10", n)
			}
			if got := x.entries(); !slices.Equal(got, test.log) {
				t.Errorf("change log:\n %q, want\n %q", got, test.log)
			}
			if reply := x.ok(t, "admin", d("mockInvariants", 1)); !reply.Lookup("holds").Boolean() {
				t.Errorf("%s", reply)
			}
			// The shards are free again.
			other := map[string]string{"a": "b", "b": "a"}[test.owner]
			x.ok(t, "admin", d("moveRange", ns, "min", d("k", 0), "max", d("k", 100), "toShard", other))
		})
	}
}

// A donor that has not told its recipient of the end can't begin another
// migration.
func TestUnfinishedMigrationBlocksTheDonor(t *testing.T) {
	x := newMeeting(t, nil)
	x.start(mock.MoveRequest{})
	x.copying()
	x.ok(t, "admin", d("mockCrash", "b"))
	x.refused(t, "admin", d("moveRange", ns, "min", d("k", 0), "max", d("k", 100), "toShard", "c"), hostUnreachable)
	if n := x.ok(t, "admin", d("mockStatus", 1)).Lookup("unfinishedMigrations").AsInt64(); n != 1 {
		t.Errorf("%d unfinished migrations, want 1", n)
	}
	x.ok(t, "admin", d("mockRestart", "b"))
	x.ok(t, "admin", d("moveRange", ns, "min", d("k", 0), "max", d("k", 100), "toShard", "c"))
}

// Latency and bandwidth make migrations and commands take longer.
func TestSlowShard(t *testing.T) {
	moved := func(slow ...any) time.Duration {
		m := newCluster(t, virtualTopology, mock.Config{})
		m.ok(t, "admin", append(d("mockSlow", "shard1"), d(slow...)...))
		begin := m.cluster.Clock().Now()
		m.ok(t, "admin", d("moveRange", ns, "min", d("k", bson.MinKey{}), "max", d("k", 1000), "toShard", "shard1",
			"forceJumbo", true))
		return m.cluster.Clock().Now().Sub(begin)
	}
	usual := moved()
	// 2 GiB at 10 MB a second instead of 64 MiB a second.
	if took := moved("bandwidth", "10MB"); took < 214*time.Second || took > 220*time.Second {
		t.Errorf("2 GiB at 10 MB/s took %v", took)
	}
	if usual < 32*time.Second || usual > 35*time.Second {
		t.Errorf("2 GiB at 64 MiB/s took %v", usual)
	}
	if took := moved("latency", "500ms"); took < usual+2*time.Second || took > usual+5*time.Second {
		t.Errorf("with half a second of latency it took %v, without %v", took, usual)
	}

	m := orders(t)
	took := func(command bson.D) time.Duration {
		begin := m.cluster.Clock().Now()
		m.run("db", command)
		return m.cluster.Clock().Now().Sub(begin)
	}
	there, elsewhere := d("find", "c", "filter", d("a", 50)), d("find", "c", "filter", d("a", 1))
	m.ok(t, "admin", d("mockSlow", "shard1", "latency", "20ms"))
	if d := took(there); d < 20*time.Millisecond || d > 25*time.Millisecond {
		t.Errorf("a read of the slow shard took %v", d)
	}
	if d := took(elsewhere); d > 5*time.Millisecond {
		t.Errorf("a read of another shard took %v", d)
	}
	m.refused(t, "db", append(there, d("maxTimeMS", 10)...), 50)
	m.ok(t, "admin", d("mockSlow", "shard1"))
	if d := took(there); d > 5*time.Millisecond {
		t.Errorf("a read took %v after the shard had its speed back", d)
	}
}

// A new term begins with what the catalog has; the old one's migrations end by
// themselves and the new balancer waits for them.
func TestStepDown(t *testing.T) {
	m := newCluster(t, virtualTopology, mock.Config{})
	status := func(field string) int64 { return m.ok(t, "admin", d("balancerStatus", 1)).Lookup(field).AsInt64() }
	m.ok(t, "admin", d("balancerStart", 1))
	m.sleep(11 * time.Second)
	if n := m.ok(t, "admin", d("mockStatus", 1)).Lookup("migrations").AsInt64(); n != 1 {
		t.Fatalf("%d migrations under way, want 1", n)
	}
	merges := m.count(t, "changelog", d("what", "autoMerge.start"))
	m.ok(t, "admin", d("mockStepDown", 1))
	if term := status("term"); term != 2 {
		t.Errorf("term %d, want 2", term)
	}
	m.sleep(500 * time.Millisecond)
	if n := m.ok(t, "admin", d("mockStatus", 1)).Lookup("migrations").AsInt64(); n != 1 {
		t.Fatalf("%d migrations under way after the step-down, want the one of the old term", n)
	}
	if m.ok(t, "admin", d("balancerStatus", 1)).Lookup("inBalancerRound").Boolean() || status("numBalancerRounds") != 0 {
		t.Error("a round has begun while the old migration is under way")
	}
	m.sleep(time.Hour)
	if n := status("numBalancerRounds"); n == 0 {
		t.Error("the new balancer does no rounds")
	}
	if n := m.count(t, "changelog", d("what", "autoMerge.start")); n < merges+1 {
		t.Error("the auto-merger did not start over")
	}
	if reply := m.ok(t, "admin", d("balancerCollectionStatus", ns)); !reply.Lookup("balancerCompliant").Boolean() {
		t.Errorf("not balanced in the end: %s", reply)
	}
}

// Without the config server metadata can't be written and the balancer stands
// still, but documents can be read and written.
func TestCrashedConfigServer(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("mockCrash", "config"))
	m.refused(t, "admin", d("split", ns, "middle", d("a", 10)), hostUnreachable)
	m.refused(t, "admin", d("balancerStatus", 1), hostUnreachable)
	m.refused(t, "admin", d("mockStepDown", 1), hostUnreachable)
	m.refused(t, "config", d("find", "chunks"), hostUnreachable)
	m.refused(t, "config", d("count", "chunks"), hostUnreachable)
	if reply, _ := m.run("newdb", d("insert", "c", "documents", bson.A{d("_id", 1)})); reply.Lookup("writeErrors", "0",
		"code").AsInt64() != hostUnreachable {
		t.Errorf("a database was made: %s", reply)
	}
	m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 1000, "a", 1000)}))
	if n := m.documents(t, "c"); n != 121 {
		t.Errorf("%d documents, want 121", n)
	}
	m.sleep(10 * time.Minute)
	m.ok(t, "admin", d("mockRestart", "config"))
	if reply := m.ok(t, "admin", d("balancerStatus", 1)); reply.Lookup("term").AsInt64() != 2 ||
		reply.Lookup("numBalancerRounds").AsInt64() > 1 {
		t.Errorf("after the restart: %s, want the beginning of term 2", reply)
	}
	m.sleep(time.Minute)
	if n := m.ok(t, "admin", d("balancerStatus", 1)).Lookup("numBalancerRounds").AsInt64(); n == 0 {
		t.Error("the balancer still stands still")
	}
}

// The router may be cut off from a shard that the rest reaches.
func TestRouterCutOff(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("mockPartition", bson.A{"router", "shard1"}))
	m.refused(t, "db", d("find", "c", "filter", d("a", 50)), hostUnreachable)
	m.ok(t, "admin", d("balancerCollectionStatus", ns)) // the config server asks the shards
	m.ok(t, "admin", d("mockHeal", "shard1"))
	m.ok(t, "db", d("find", "c", "filter", d("a", 50)))
}

// Nobody waits for ever for a resharding that a node keeps from going on: it
// goes on when the node is back.
func TestReshardingWaitsForANode(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("mockPartition", bson.A{"config", "shard1"}))
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3), hostUnreachable)
	if n := m.count(t, "reshardingOperations", d()); n != 0 {
		t.Error("a refused resharding is under way")
	}
	m.ok(t, "admin", d("mockHeal", 1))
	// goes on
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3, "maxTimeMS", 60), 50)
	m.ok(t, "admin", d("mockPartition", bson.A{"config", "shard1"}))
	m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3), hostUnreachable)
	m.refused(t, "admin", d("abortReshardCollection", ns), hostUnreachable)
	m.sleep(time.Hour)
	if n := m.count(t, "reshardingOperations", d()); n != 1 {
		t.Errorf("%d operations wait for the node, want 1", n)
	}
	m.ok(t, "admin", d("mockHeal", 1))
	m.sleep(time.Minute)
	if n := m.count(t, "collections", d("_id", ns, "key", d("b", 1))); n != 1 {
		t.Error("the resharding has not gone on")
	}
}

// On virtual time nobody can mend the cluster while a command waits: one that
// waits for a node gives up.
func TestNobodyWaitsForEverOnVirtualTime(t *testing.T) {
	x := newMeeting(t, nil)
	x.start(mock.MoveRequest{})
	x.copying()
	x.ok(t, "admin", d("mockPartition", bson.A{"a", "b"}))
	wait := func() error {
		x.cluster.Lock()
		defer x.cluster.Unlock()
		return x.cluster.RangeDeleter().Await(t.Context(), time.Time{}, "a", ns)
	}
	if err := wait(); codeOf(t, err) != hostUnreachable { // the donor can't tell the recipient that it is over
		t.Errorf("the wait ended with %v", err)
	}
	x.ok(t, "admin", d("mockHeal", 1))
	if err := wait(); err != nil {
		t.Errorf("the wait ended with %v", err)
	}
}

func TestFill(t *testing.T) {
	tests := []struct {
		name  string
		rest  bson.D
		owned map[string]int64
	}{
		{"evenly by chunk", d(), map[string]int64{"shard0": 300 << 20, "shard1": 300 << 20, "shard2": 300 << 20}},
		{"by shares", d("distribution", d("shard0", 0.5, "shard2", 0.5)), map[string]int64{"shard0": 450 << 20, "shard1": 0,
			"shard2": 450 << 20}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newCluster(t, `{"shards": [{"id": "shard0"}, {"id": "shard1"}, {"id": "shard2"}],
			  "collections": [{"ns": "db.c", "key": {"a": 1}, "chunks": [
			    {"shard": "shard0", "max": {"a": 0}}, {"shard": "shard1", "max": {"a": 10}}, {"shard": "shard2"}]}]}`, mock.Config{})
			m.ok(t, "admin", d("balancerStop", 1))
			m.ok(t, "admin", append(d("mockFill", ns, "bytes", "900MiB"), test.rest...))
			got := m.owned(t, ns)
			for shard, want := range test.owned {
				if diff := got[shard] - want; diff < -1<<20 || diff > 1<<20 {
					t.Errorf("%s owns %d bytes, want about %d", shard, got[shard], want)
				}
			}
			if reply := m.ok(t, "admin", d("mockInvariants", 1)); !reply.Lookup("holds").Boolean() {
				t.Errorf("%s", reply)
			}
		})
	}
	t.Run("skewed", func(t *testing.T) {
		m := orders(t)
		m.ok(t, "admin", d("balancerStop", 1))
		m.ok(t, "admin", d("mockFill", ns, "bytes", "12GB", "docs", 1_000_000, "distribution", "skewed"))
		m.ok(t, "admin", d("mockFill", ns, "bytes", "12GB", "docs", 1_000_000, "distribution", "skewed")) // adds
		sizes := m.owned(t, ns)
		if !(sizes["shard0"] > sizes["shard1"] && sizes["shard1"] > sizes["shard2"] && sizes["shard2"] > 0) {
			t.Errorf("not skewed: %v", sizes)
		}
		if sum := sizes["shard0"] + sizes["shard1"] + sizes["shard2"]; sum < 23_900_000_000 || sum > 24_100_000_000 {
			t.Errorf("%d bytes in all, want 24 GB", sum)
		}
	})
}

// Time that is real can't jump.
func TestAdvance(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	begin := m.cluster.Clock().Now()
	reply := m.ok(t, "admin", d("mockAdvance", "2h"))
	if d := m.cluster.Clock().Now().Sub(begin); d < 2*time.Hour || d > 2*time.Hour+time.Second {
		t.Errorf("time jumped by %v", d)
	}
	if now := reply.Lookup("now").Time(); now.Sub(begin) < 2*time.Hour-time.Second {
		t.Errorf("it says that it is %v", now)
	}
	cluster, err := mock.New(mock.Config{RealTime: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	newModelOn(cluster).refused(t, "admin", d("mockAdvance", "2h"), 20)
}

// mockAddShard takes names and ports that are free.
func TestAddedShards(t *testing.T) {
	m := newCluster(t, threeShards, mock.Config{})
	if reply := m.ok(t, "admin", d("mockAddShard", 1)); reply.Lookup("shardAdded").StringValue() != "shard3" {
		t.Errorf("%s", reply)
	}
	m.ok(t, "admin", d("mockAddShard", d("name", "cold", "zones", bson.A{"archive"})))
	if n := m.count(t, "shards", d("_id", "cold", "tags", "archive")); n != 1 {
		t.Error("shard cold is not in zone archive")
	}
	m.refused(t, "admin", d("mockAddShard", d("nam", "x")), 2)
}

// Wrong input changes nothing and says what is wrong.
func TestMockCommandsRefuse(t *testing.T) {
	m := orders(t)
	for _, test := range []struct {
		command bson.D
		code    int64
	}{
		{d("mockCrash", "nope"), shardNotFound},
		{d("mockCrash", "router"), 2},
		{d("mockCrash", 1), 14},
		{d("mockCrash", "shard0", "extra", 1), 40415},
		{d("mockRestart", ""), 2},
		{d("mockPartition", bson.A{"shard0"}), 2},
		{d("mockPartition", bson.A{"shard0", "shard0"}), 2},
		{d("mockPartition", bson.A{"shard0", "nope"}), shardNotFound},
		{d("mockHeal", bson.A{"shard0"}), 2},
		{d("mockSlow", "shard0", "latency", "fast"), 2},
		{d("mockSlow", "shard0", "latency", "-5ms"), 2},
		{d("mockSlow", "shard0", "bandwidth", "10 parsecs"), 2},
		{d("mockSlow", "shard0", "bandwidth", 0), 2},
		{d("mockFailNext", "nope"), 2},
		{d("mockFailNext", "mockCrash"), 2},
		{d("mockFailNext", "ping", "shard", "shard0"), 72},
		{d("mockFailNext", "find", "times", 0), 2},
		{d("mockFailNext", "find", "code", -1), 2},
		{d("mockFailNext", "find", "code", 6, "closeConnection", true), 72},
		{d("mockFailNext", "find", "shard", "nope"), shardNotFound},
		{d("mockFailNext", "find", "writeConcernError", d()), 2},
		{d("mockAdvance", "soon"), 2},
		{d("mockAdvance", "-1h"), 2},
		{d("mockAdvance", true), 14},
		{d("mockFill", "db.none", "bytes", 1), 118},
		{d("mockFill", "none.c", "bytes", 1), 26},
		{d("mockFill", ns), 40414},
		{d("mockFill", ns, "bytes", 0), 2},
		{d("mockFill", ns, "bytes", "1GB", "docs", 0), 2},
		{d("mockFill", ns, "bytes", "1GB", "distribution", "odd"), 2},
		{d("mockFill", ns, "bytes", "1GB", "distribution", d("shard0", 0.5)), 2},
		{d("mockFill", ns, "bytes", "1GB", "distribution", d("nope", 1)), shardNotFound},
	} {
		m.refused(t, "admin", test.command, test.code)
	}
	m.refused(t, "db", d("mockCrash", "shard0"), 13)
	state := m.ok(t, "admin", d("mockStatus", 1))
	for _, list := range []string{"partitions", "failures"} {
		if values, _ := state.Lookup(list).Array().Values(); len(values) > 0 {
			t.Errorf("%s: %s", list, state)
		}
	}
	if n := m.documents(t, "c"); n != 120 {
		t.Errorf("%d documents, want 120", n)
	}
}
