package mock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// The traps of rules/01-examples-and-traps §12 that need shards with documents, by their number.
// The others are in balancer, balancer/policy and balancer/catalog.

// setting changes a document of config.settings by hand.
func (m *model) setting(id string, fields bson.D) bson.D {
	return d("update", "settings", "updates", bson.A{d("q", d("_id", id), "u", d("$set", fields), "upsert", true)})
}

// frequent is 4 MiB in one key of db.c, its chunk on a, and chunks of 1 MiB.
func frequent(t *testing.T, cfg mock.Config) *model {
	t.Helper()
	m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"databases":[{"name":"db","primary":"a"}],
		"settings":{"chunkSizeMB":1,"balancer":{"mode":"off"}},
		"collections":[{"ns":"db.c","key":{"k":1},"chunks":[{"shard":"a","max":{"k":0}},{"shard":"a","max":{"k":1}},{"shard":"b"}]}]}`, cfg)
	text := strings.Repeat("x", 16<<10)
	for i := range 250 {
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("k", 0, "i", i, "pad", text)}))
	}
	return m
}

// rounds are the newest entry of the action log and the number of entries.
func (m *model) rounds(t *testing.T) (newest bson.Raw, n int) {
	t.Helper()
	entries := m.all(t, "config", d("find", "actionlog", "filter", d("what", "balancer.round"), "batchSize", 10_000))
	if len(entries) > 0 {
		newest = entries[len(entries)-1].Lookup("details").Document()
	}
	return newest, len(entries)
}

func TestTrap21TrackedUnshardedCollectionsAreInNoList(t *testing.T) {
	m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"},{"id":"c"}],"databases":[{"name":"db","primary":"a"}]}`,
		mock.Config{Parameters: map[string]any{"reshardingMinimumOperationDurationMillis": 0}})
	for i := range 50 {
		m.ok(t, "db", d("insert", "plain", "documents", bson.A{d("_id", i, "pad", make([]byte, 100_000))}))
	}
	m.ok(t, "config", m.setting("chunksize", d("value", 1)))
	m.ok(t, "admin", d("moveCollection", "db.plain", "toShard", "b"))
	m.cluster.Lock()
	sharded, err := m.cluster.ConfigDB().ShardedCollections()
	m.cluster.Unlock()
	if err != nil || len(sharded) != 0 {
		t.Errorf("sharded collections %v, %v", sharded, err)
	}
	m.refused(t, "admin", d("balancerCollectionStatus", "db.plain"), 118)
	m.ok(t, "admin", d("removeShard", "b"))
	m.sleep(time.Hour)
	for _, coll := range m.all(t, "config", d("find", "changelog", "filter", d("what", "moveChunk.start"), "batchSize",
		1000)) {
		if coll.Lookup("ns").StringValue() == "db.plain" {
			t.Fatalf("draining moved it: %s", coll)
		}
	}
	if owner := m.cluster.ConfigDB().Table("db.plain").At(0).Shard; owner != "b" {
		t.Errorf("the collection is on %s, want b, which drains", owner)
	}
	if reply := m.ok(t, "admin", d("removeShard", "b")); reply.Lookup("state").StringValue() != "ongoing" {
		t.Errorf("the shard is gone with the collection on it: %s", reply)
	}
}

func TestTrap22TooBigCountsAsMovedOtherFailuresDoNot(t *testing.T) {
	// A zone move of 0 to 1 does not force, so the donor refuses it.
	m := frequent(t, mock.Config{})
	m.ok(t, "admin", d("addShardToZone", "b", "zone", "Z"))
	m.ok(t, "admin", d("updateZoneKeyRange", ns, "min", d("k", 0), "max", d("k", 1), "zone", "Z"))
	m.ok(t, "admin", d("balancerStart", 1))
	m.sleep(11 * time.Second)
	first := m.all(t, "config", d("find", "actionlog", "filter",
		d("what", "balancer.round")))[0].Lookup("details").Document()
	for field, want := range map[string]int32{"candidateChunks": 1, "chunksMoved": 1, "imbalancedCachedCollections": 1} {
		if got := first.Lookup(field).Int32(); got != want {
			t.Errorf("%s is %d after ChunkTooBig, want %d: %s", field, got, want, first)
		}
	}
	if chunk := m.cluster.ConfigDB().Table(ns).At(1); chunk.Shard != "a" || chunk.Jumbo != catalog.JumboTrue {
		t.Errorf("the chunk %+v, want it on a and flagged", chunk)
	}

	// The recipient goes away while it copies.
	m = newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"settings":{"balancer":{"mode":"off"}},"collections":[{"ns":"db.c","key":{"k":1},
		"chunks":[{"shard":"a","docs":1000000,"bytes":"2GiB"},{"min":{"k":9},"shard":"b"}]}]}`, mock.Config{})
	m.ok(t, "admin", d("balancerStart", 1))
	for m.count(t, "changelog", d("what", "moveChunk.start")) == 0 {
		m.sleep(10 * time.Millisecond)
	}
	m.ok(t, "admin", d("mockPartition", bson.A{"a", "b"}))
	m.sleep(200 * time.Millisecond)
	m.ok(t, "admin", d("mockHeal", 1))
	newest, n := m.rounds(t)
	for n == 0 {
		m.sleep(100 * time.Millisecond)
		newest, n = m.rounds(t)
	}
	for field, want := range map[string]int32{"candidateChunks": 1, "chunksMoved": 0, "imbalancedCachedCollections": 0} {
		if got := newest.Lookup(field).Int32(); got != want {
			t.Errorf("%s is %d after a lost connection, want %d: %s", field, got, want, newest)
		}
	}
}

// shiftedInThrottle runs the balancer over 6 GiB on the shard a up to the
// pause before its second batch, lets change happen, and gives the bounds of
// the migrations from then on and the entry of that round.
func shiftedInThrottle(t *testing.T, change func(*model)) (bounds []string, round bson.Raw) {
	t.Helper()
	m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"},{"id":"c"}],"settings":{"balancer":{"mode":"off"}},"collections":[{"ns":"db.c","key":{"k":1},"chunks":[
		{"shard":"a","max":{"k":0}},{"min":{"k":0},"max":{"k":100},"shard":"a","docs":1000,"bytes":"10MiB"},
		{"min":{"k":100},"max":{"k":200},"shard":"a","docs":1000,"bytes":"10MiB"},
		{"min":{"k":200},"max":{"k":600000},"shard":"a","docs":600000,"bytes":"6000MiB"},
		{"min":{"k":600000},"shard":"b","docs":500000,"bytes":"5000MiB"}]}]}`,
		mock.Config{Parameters: map[string]any{"balancerMigrationsThrottlingMs": 5000}})
	m.ok(t, "admin", d("balancerStart", 1))
	_, n := m.rounds(t)
	for n == 0 {
		m.sleep(10 * time.Millisecond)
		_, n = m.rounds(t)
	}
	m.sleep(time.Second)
	before := m.count(t, "changelog", d("what", "moveChunk.start"))
	change(m)
	by := m.count(t, "changelog", d("what", "moveChunk.start"))
	for n == 1 {
		m.sleep(100 * time.Millisecond)
		round, n = m.rounds(t)
	}
	m.cluster.Lock()
	err := m.cluster.CheckInvariants()
	m.cluster.Unlock()
	if err != nil {
		t.Error(err)
	}
	if by < before {
		t.Fatal("entries are lost")
	}
	starts := m.all(t, "config", d("find", "changelog", "filter", d("what", "moveChunk.start"), "batchSize", 1000))
	for _, entry := range starts[by:] {
		details := entry.Lookup("details").Document()
		bounds = append(bounds, fmt.Sprint(details.Lookup("min", "k"), " to ", details.Lookup("max", "k")))
	}
	return bounds, round
}

func TestTrap28DonorChoosesTheRangeWhenItStarts(t *testing.T) {
	show := func(n int) string { return fmt.Sprintf(`{"$numberInt":"%d"}`, n) }
	t.Run("nothing happens", func(t *testing.T) {
		bounds, round := shiftedInThrottle(t, func(*model) {})
		if len(bounds) != 1 || bounds[0] != show(0)+" to "+show(100) || round.Lookup("chunksMoved").Int32() != 1 {
			t.Errorf("moved %v, %s", bounds, round)
		}
	})
	t.Run("split meanwhile", func(t *testing.T) {
		bounds, round := shiftedInThrottle(t, func(m *model) { m.ok(t, "admin", d("split", ns, "middle", d("k", 40))) })
		if len(bounds) != 1 || bounds[0] != show(0)+" to "+show(40) || round.Lookup("chunksMoved").Int32() != 1 {
			t.Errorf("moved %v, %s; want the piece that begins where the chunk began", bounds, round)
		}
	})
	t.Run("gone meanwhile", func(t *testing.T) {
		bounds, round := shiftedInThrottle(t, func(m *model) {
			m.ok(t, "admin", d("moveRange", ns, "min", d("k", 0), "max", d("k", 100), "toShard", "c"))
		})
		if len(bounds) != 0 || round.Lookup("candidateChunks").Int32() != 1 || round.Lookup("chunksMoved").Int32() != 0 {
			t.Errorf("moved %v, %s; want a migration that fails", bounds, round)
		}
	})
}

func TestTrap31MarkingJumboKeepsTheVersionClearingDoesNot(t *testing.T) {
	m := frequent(t, mock.Config{})
	m.ok(t, "admin", d("addShardToZone", "b", "zone", "Z"))
	m.ok(t, "admin", d("updateZoneKeyRange", ns, "min", d("k", 0), "max", d("k", 1), "zone", "Z"))
	before := m.cluster.ConfigDB().Table(ns)
	m.ok(t, "admin", d("balancerStart", 1))
	for range 10_000 {
		if m.sleep(10 * time.Millisecond); m.cluster.ConfigDB().Table(ns).JumboCount("a") > 0 {
			break
		}
	}
	marked := m.cluster.ConfigDB().Table(ns)
	m.ok(t, "admin", d("balancerStop", 1))
	if marked.At(1).Jumbo != catalog.JumboTrue || marked.Version() != before.Version() ||
		marked.At(1).Version != before.At(1).Version {
		t.Errorf("%+v of %s after it was flagged, before %s", marked.At(1), marked.Version(), before.Version())
	}
	m.ok(t, "admin", d("clearJumboFlag", ns, "find", d("k", 0)))
	cleared := m.cluster.ConfigDB().Table(ns)
	want := catalog.ChunkVersion{Major: before.Version().Major + 1}
	if got := cleared.At(1); got.Jumbo == catalog.JumboTrue || got.Version != want ||
		cleared.Version().ChunkVersion != want {
		t.Errorf("%+v of %s after it was cleared, want version %s", got, cleared.Version(), want)
	}
	m.ok(t, "admin", d("clearJumboFlag", ns, "find", d("k", 0)))
	if again := m.cluster.ConfigDB().Table(ns).Version(); again != cleared.Version() {
		t.Errorf("clearing an unflagged chunk makes version %s", again)
	}
}

func TestTrap19SecondaryThrottleAloneDoesNothing(t *testing.T) {
	took := func(throttle any) time.Duration {
		m := newCluster(t, topologyOf(t, 2, 8, "200MB", 1000), mock.Config{})
		if throttle != nil {
			m.ok(t, "config", m.setting("balancer", d("_secondaryThrottle", throttle)))
		}
		began := m.cluster.Now()
		for m.count(t, "changelog", d("what", "moveChunk.commit")) < 2 {
			m.sleep(100 * time.Millisecond)
		}
		return m.cluster.Now().Sub(began)
	}
	if plain, throttled := took(nil), took(true); (throttled - plain).Abs() > 200*time.Millisecond {
		t.Errorf("two migrations take %v, with _secondaryThrottle: true %v", plain, throttled)
	}
	m := newCluster(t, topologyOf(t, 2, 8, "1MB", 10), mock.Config{})
	reply, _ := m.run("config", m.setting("balancer", d("_secondaryThrottle", true, "writeConcern", d("w", 2))))
	if writeErrorCode(reply) != 121 {
		t.Errorf("a writeConcern beside it: %s, want code 121", reply)
	}
}

func TestTrap33StatusIgnoresTheModeAndNoBalance(t *testing.T) {
	m := newCluster(t, topologyOf(t, 2, 8, "200MB", 1000), mock.Config{})
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("configureCollectionBalancing", "big.data", "enableBalancing", false))
	status := d("balancerCollectionStatus", "big.data")
	if reply := m.ok(t, "admin", status); reply.Lookup("firstComplianceViolation").StringValue() != "chunksImbalance" {
		t.Errorf("off and noBalance: %s", reply)
	}
	m.ok(t, "admin", d("configureCollectionBalancing", "big.data", "defragmentCollection", true))
	// A defragmentation is told before any shard is asked for sizes.
	m.ok(t, "admin", d("mockCrash", "s01"))
	if reply := m.ok(t, "admin", status); reply.Lookup("firstComplianceViolation").StringValue() != "defragmentingChunks" {
		t.Errorf("defragmenting: %s", reply)
	}
}

func TestTrap40ZoneThatDoesNotFitTheKeyStopsAllBalancing(t *testing.T) {
	for name, bound := range map[string]bson.D{"16634": d("other", 1), "349": d("k", 1, "more", 1)} {
		t.Run(name, func(t *testing.T) {
			m := newCluster(t, topologyOf(t, 2, 8, "200MB", 1000), mock.Config{})
			m.ok(t, "admin", d("balancerStop", 1))
			moved := m.count(t, "changelog", d("what", "moveChunk.commit"))
			m.ok(t, "admin", d("shardCollection", "db.small", "key", d("k", 1)))
			m.ok(t, "config", d("insert", "tags", "documents", bson.A{d("ns", "db.small", "min", bound, "max", bound, "tag",
				"Z")}))
			_, n := m.rounds(t)
			m.ok(t, "admin", d("balancerStart", 1))
			m.sleep(31 * time.Second)
			newest, now := m.rounds(t)
			if got := m.count(t, "changelog", d("what", "moveChunk.commit")); got != moved {
				t.Errorf("%d migrations of the other collection", got-moved)
			}
			if now-n != 3 && now-n != 4 || !newest.Lookup("errorOccurred").Boolean() {
				t.Errorf("%d failed rounds in half a minute, the newest %s", now-n, newest)
			}
			m.ok(t, "config", d("delete", "tags", "deletes", bson.A{d("q", d("ns", "db.small"), "limit", 1)}))
			m.sleep(time.Minute)
			if got := m.count(t, "changelog", d("what", "moveChunk.commit")); got == moved {
				t.Error("nothing moves without the zone")
			}
		})
	}
}
