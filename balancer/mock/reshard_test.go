package mock_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// refused runs a command that must fail with a code.
func (m *model) refused(t *testing.T, db string, command bson.D, code int64) {
	t.Helper()
	reply, ok := m.run(db, command)
	if got, _ := reply.Lookup("code").AsInt64OK(); ok || got != code {
		t.Errorf("%v answered %s, want code %d", command, reply, code)
	}
}

// orders is db.c sharded by a, b an index besides, 120 documents on three
// shards.
func orders(t *testing.T, change ...func(*mock.Config)) *model {
	t.Helper()
	cfg := mock.Config{Parameters: map[string]any{"reshardingMinimumOperationDurationMillis": 0}}
	for _, c := range change {
		c(&cfg)
	}
	m := newCluster(t, threeShards, cfg)
	m.ok(t, "admin", d("shardCollection", ns, "key", d("a", 1)))
	for i := range 120 {
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", i, "a", i, "b", i%40)}))
	}
	for i, shard := range []string{"shard1", "shard2"} {
		m.ok(t, "admin", d("moveRange", ns, "min", d("a", 40*(i+1)), "max", d("a", 40*(i+2)), "toShard", shard))
	}
	m.ok(t, "db", d("insert", "plain", "documents", bson.A{d("_id", 1), d("_id", 2)}))
	return m
}

// documents counts without orphans: with a query, that is.
func (m *model) documents(t *testing.T, coll string) int64 {
	t.Helper()
	n, _ := m.ok(t, "db", d("count", coll, "query", d("_id", d("$gte", 0)))).Lookup("n").AsInt64OK()
	return n
}

// entry is the config.collections document of a namespace.
func (m *model) entry(t *testing.T, ns string) bson.Raw {
	t.Helper()
	reply := m.ok(t, "config", d("find", "collections", "filter", d("_id", ns)))
	docs, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil || len(docs) != 1 {
		t.Fatalf("config.collections of %s: %s", ns, reply)
	}
	return docs[0].Document()
}

// The refusals of rules/03-commands §1.4 and its examples E73 to E76.
func TestReshardingRefusals(t *testing.T) {
	m := orders(t)
	for _, c := range []struct {
		command bson.D
		code    int64
	}{
		{d("reshardCollection", "nodb.c", "key", d("b", 1)), 26},
		{d("reshardCollection", "db.nope", "key", d("b", 1)), 26},
		{d("reshardCollection", "db.plain", "key", d("b", 1)), 26},
		{d("reshardCollection", "config.collections", "key", d("b", 1)), 20},
		{d("reshardCollection", ns, "key", d("b", 1), "unique", true), 2},
		{d("reshardCollection", ns, "key", d("b", 1), "collation", d("locale", "de")), 2},
		{d("reshardCollection", ns, "key", d("b", "sideways")), 2},
		{d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 50), 4952606},
		{d("reshardCollection", ns, "key", d("b", 1), "shardDistribution", bson.A{d("shard", "nowhere")}), 70},
		{d("reshardCollection", ns, "key", d("b", 1), "shardDistribution", bson.A{d("shard", "shard0"),
			d("shard", "shard0")}), 72},
		{d("reshardCollection", ns, "key", d("b", 1), "shardDistribution", bson.A{d("shard", "shard0", "min", d("b", 1))}),
			72},
		{d("reshardCollection", ns, "key", d("b", 1), "shardDistribution",
			bson.A{d("shard", "shard0", "min", d("b", bson.MinKey{}), "max", d("b", 9))}), 72},
		{d("abortReshardCollection", ns), 339},
		{d("commitReshardCollection", ns), 339},
		{d("abortReshardCollection", "db.nope"), 26},
		{d("moveCollection", ns, "toShard", "shard1"), 26},
		{d("moveCollection", "db.plain", "toShard", "nowhere"), 70},
		{d("moveCollection", "db.nope", "toShard", "shard1"), 26},
		{d("unshardCollection", "db.plain"), 26},
		{d("unshardCollection", ns, "toShard", "nowhere"), 70},
		{d("refineCollectionShardKey", ns, "key", d("b", 1)), 72},
		{d("refineCollectionShardKey", ns, "key", d("a", 1, "b", 1)), 72}, // no index
		{d("refineCollectionShardKey", "db.plain", "key", d("a", 1)), 118},
		{d("refineCollectionShardKey", "nodb.c", "key", d("a", 1)), 26},
	} {
		m.refused(t, "admin", c.command, c.code)
	}
	before := m.entry(t, ns)
	m.ok(t, "admin", d("reshardCollection", ns, "key", d("a", 1)))
	if after := m.entry(t, ns); !slices.Equal(before, after) {
		t.Errorf("resharding by the same key changed %s to %s", before, after)
	}
}

func TestReshardCollection(t *testing.T) {
	m := orders(t)
	before := m.entry(t, ns)
	m.ok(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 9))
	after := m.entry(t, ns)
	for _, changed := range []string{"uuid", "lastmodEpoch", "timestamp", "key"} {
		if after.Lookup(changed).Equal(before.Lookup(changed)) {
			t.Errorf("%s is still %s", changed, after.Lookup(changed))
		}
	}
	if !after.Lookup("reshardingFields").IsZero() || !after.Lookup("allowMigrations").IsZero() {
		t.Errorf("the operation left something in %s", after)
	}
	if n := m.count(t, "chunks", d()); n != 9 {
		t.Errorf("%d chunks, want 9", n)
	}
	for _, shard := range []string{"shard0", "shard1", "shard2"} {
		if n := m.count(t, "chunks", d("shard", shard)); n != 3 {
			t.Errorf("%d chunks on %s, want 3", n, shard)
		}
	}
	if n := m.documents(t, "c"); n != 120 {
		t.Errorf("%d documents, want 120", n)
	}
	reply := m.ok(t, "db", d("count", "c", "query", d("b", 7)))
	if n, _ := reply.Lookup("n").AsInt64OK(); n != 3 {
		t.Errorf("%d documents with b 7, want 3", n)
	}
	var states []string
	entries := m.ok(t, "config", d("find", "changelog", "filter", d("what", "resharding.coordinator.transition"),
		"batchSize", 100))
	list, _ := entries.Lookup("cursor", "firstBatch").Array().Values()
	for _, e := range list {
		states = append(states, e.Document().Lookup("details", "newState").StringValue())
	}
	want := []string{"initializing", "preparing-to-donate", "cloning", "applying", "blocking-writes", "committing", "done"}
	if !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	if n := m.count(t, "reshardingOperations", d()); n != 0 {
		t.Errorf("%d operations are left in the catalog", n)
	}
}

// What is written while a resharding runs is there afterwards, also when it is
// aborted, which leaves the collection as it was.
func TestWritesWhileResharding(t *testing.T) {
	for _, abort := range []bool{false, true} {
		m := orders(t)
		before := m.entry(t, ns)
		m.refused(t, "admin", d("reshardCollection", ns, "key", d("b", 1), "numInitialChunks", 3, "maxTimeMS", 110), 50)
		if state := m.entry(t, ns).Lookup("reshardingFields", "state").StringValue(); state != "cloning" {
			t.Fatalf("the operation is in state %s, want it to clone", state)
		}
		m.refused(t, "admin", d("reshardCollection", ns, "key", d("a", 1, "b", 1), "numInitialChunks", 3), 338)
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 1000, "a", 7, "b", 39)}))
		m.ok(t, "db", d("delete", "c", "deletes", bson.A{d("q", d("_id", 3), "limit", 1)}))
		m.ok(t, "db", d("update", "c", "updates", bson.A{d("q", d("_id", 5), "u", d("$set", d("b", 0)))}))
		if abort {
			m.ok(t, "admin", d("abortReshardCollection", ns))
		} else {
			m.refused(t, "admin", d("moveRange", ns, "min", d("a", 0), "max", d("a", 10), "toShard", "shard2"), 117)
			m.sleep(time.Minute)
		}
		after := m.entry(t, ns)
		if same := after.Lookup("uuid").Equal(before.Lookup("uuid")); same != abort {
			t.Errorf("aborted %t: the entry is %s", abort, after)
		}
		if !after.Lookup("reshardingFields").IsZero() {
			t.Errorf("aborted %t: the entry is %s", abort, after)
		}
		if n := m.documents(t, "c"); n != 120 {
			t.Errorf("aborted %t: %d documents, want 120", abort, n)
		}
		for b, want := range map[int]int64{39: 4, 0: 4, 3: 2} {
			reply := m.ok(t, "db", d("count", "c", "query", d("b", b)))
			if n, _ := reply.Lookup("n").AsInt64OK(); n != want {
				t.Errorf("aborted %t: %d documents with b %d, want %d", abort, n, b, want)
			}
		}
	}
}

func TestUnshardAndMoveCollection(t *testing.T) {
	m := orders(t)
	before := m.entry(t, ns)
	m.ok(t, "admin", d("unshardCollection", ns, "toShard", "shard1"))
	after := m.entry(t, ns)
	if !after.Lookup("unsplittable").Boolean() || after.Lookup("key").Document().String() != `{"_id": {"$numberInt":"1"}}` ||
		after.Lookup("uuid").Equal(before.Lookup("uuid")) {
		t.Errorf("unsharded: %s", after)
	}
	if n := m.count(t, "chunks", d("shard", "shard1")); n != 1 || m.count(t, "chunks", d()) != 1 {
		t.Errorf("want one chunk, on shard1")
	}
	m.ok(t, "admin", d("unshardCollection", ns)) // already
	m.refused(t, "admin", d("unshardCollection", ns, "toShard", "shard2"), 118)
	m.ok(t, "admin", d("moveCollection", ns, "toShard", "shard2"))
	m.ok(t, "admin", d("moveCollection", "db.plain", "toShard", "shard1"))
	if !m.entry(t, "db.plain").Lookup("unsplittable").Boolean() {
		t.Error("a moved collection is not tracked as unsharded")
	}
	if n := m.documents(t, "c") + m.documents(t, "plain"); n != 122 {
		t.Errorf("%d documents, want 122", n)
	}
	m.refused(t, "admin", d("split", ns, "middle", d("_id", 5)), 118)
	m.ok(t, "admin", d("shardCollection", ns, "key", d("a", 1)))
	if n := m.count(t, "chunks", d("shard", "shard2")); n != 1 {
		t.Error("sharded again, the collection should stay where it was moved to")
	}
}

// E70: bounds get the new fields. The newest chunk's version is raised twice: by
// stopping migrations, and by permitting them again.
func TestRefineCollectionShardKey(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("addShardToZone", "shard0", "zone", "Z"))
	m.ok(t, "admin", d("updateZoneKeyRange", ns, "min", d("a", 80), "max", d("a", bson.MaxKey{}), "zone", "Z"))
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("a", 1, "b", 1), "name", "ab")}))
	versions := func() (list []string) {
		reply := m.ok(t, "config", d("find", "chunks", "sort", d("min", 1)))
		docs, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
		for _, doc := range docs {
			list = append(list, doc.Document().Lookup("lastmod").String())
		}
		return list
	}
	before := versions()
	m.ok(t, "admin", d("refineCollectionShardKey", ns, "key", d("a", 1, "b", 1)))
	before[0] = `{"$timestamp":{"t":3,"i":4}}`
	if after := versions(); !slices.Equal(before, after) {
		t.Errorf("versions are %v, want %v", after, before)
	}
	for _, c := range []struct {
		coll   string
		filter bson.D
	}{
		{"chunks", d("min", d("a", bson.MinKey{}, "b", bson.MinKey{}))},
		{"chunks", d("min", d("a", 40, "b", bson.MinKey{}), "max", d("a", 80, "b", bson.MinKey{}))},
		{"chunks", d("max", d("a", bson.MaxKey{}, "b", bson.MaxKey{}))},
		{"tags", d("min", d("a", 80, "b", bson.MinKey{}), "max", d("a", bson.MaxKey{}, "b", bson.MaxKey{}))},
	} {
		if n := m.count(t, c.coll, c.filter); n != 1 {
			t.Errorf("%d entries of %s like %v, want one", n, c.coll, c.filter)
		}
	}
	if n := m.documents(t, "c"); n != 120 {
		t.Errorf("%d documents, want 120", n)
	}
	m.ok(t, "admin", d("split", ns, "middle", d("a", 60, "b", 20)))
}

// A shard that gave away all it owned has no index for a key refined since,
// and must delete its orphans all the same.
func TestOrphansOfARefinedKeyAreDeleted(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("moveRange", ns, "min", d("a", bson.MinKey{}), "toShard", "shard1"))
	m.ok(t, "admin", d("moveRange", ns, "min", d("a", 120), "toShard", "shard1"))
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("a", 1, "b", 1), "name", "ab")}))
	m.ok(t, "admin", d("refineCollectionShardKey", ns, "key", d("a", 1, "b", 1)))
	for range 2 {
		m.cluster.Lock()
		if err := m.cluster.CheckInvariants(); err != nil {
			t.Error(err)
		}
		m.cluster.Unlock()
		m.sleep(time.Hour)
	}
}

// A hashed field that is hashed no more is another shard key: documents would lie
// where nobody looks for them.
func TestRefiningKeepsWhatIsHashed(t *testing.T) {
	m := orders(t)
	m.ok(t, "admin", d("reshardCollection", ns, "key", d("a", "hashed"), "numInitialChunks", 4))
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("a", 1, "b", 1), "name", "ab")}))
	before := m.documents(t, "c")
	m.refused(t, "admin", d("refineCollectionShardKey", ns, "key", d("a", 1, "b", 1)), 72)
	if after := m.documents(t, "c"); after != before {
		t.Errorf("%d documents, and %d before", after, before)
	}
}
