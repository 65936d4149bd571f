package router_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// E8 to E10: what the handshake and isdbgrid answer, with types.
func TestE8ToE10Handshake(t *testing.T) {
	x := newS0(t)
	hello := x.ok("admin", d("hello", 1))
	for name, want := range map[string]int32{"maxBsonObjectSize": 16777216, "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
		"logicalSessionTimeoutMinutes": 30, "maxWireVersion": 25, "minWireVersion": 0} {
		if got, isInt := hello.Lookup(name).Int32OK(); !isInt || got != want {
			t.Errorf("%s is %s", name, hello.Lookup(name))
		}
	}
	if hello.Lookup("topologyVersion", "counter").Type != bson.TypeInt64 || !hello.Lookup("setName").IsZero() {
		t.Errorf("hello %s", hello)
	}
	if reply := x.ok("test", d("isdbgrid", 1)); reply.Lookup("isdbgrid").Int32() != 1 || reply.Lookup("hostname").StringValue() == "" {
		t.Errorf("isdbgrid %s", reply)
	}
}

// E11, E14, E18: the balancer's state and that of a collection.
func TestE11E14E18Status(t *testing.T) {
	x := newS0(t)
	status := x.ok("admin", d("balancerStatus", 1))
	if status.Lookup("inBalancerRound").Boolean() || status.Lookup("term").Int64() != 1 {
		t.Errorf("status %s", status)
	}
	reply := x.ok("admin", d("balancerCollectionStatus", "shop.geo"))
	if reply.Lookup("chunkSize").Double() != 128 || !reply.Lookup("balancerCompliant").Boolean() || !reply.Lookup("firstComplianceViolation").IsZero() {
		t.Errorf("compliant: %s", reply)
	}
	x.ok("admin", d("removeShard", "shardA"))
	reply = x.ok("admin", d("balancerCollectionStatus", "shop.geo"))
	if reply.Lookup("balancerCompliant").Boolean() || reply.Lookup("firstComplianceViolation").StringValue() != "draining" {
		t.Errorf("draining: %s", reply)
	}
}

// E19, E21, E25: options of balancing, and how they are stored.
func TestE19E21E25Balancing(t *testing.T) {
	x := newS0(t)
	configure := func(more ...any) {
		x.ok("admin", append(d("configureCollectionBalancing", "shop.orders"), d(more...)...))
	}
	entry := func() bson.Raw {
		return x.first("config", d("find", "collections", "filter", d("_id", "shop.orders")))
	}
	configure("chunkSize", 64)
	if n, isLong := entry().Lookup("maxChunkSizeBytes").Int64OK(); !isLong || n != 67108864 {
		t.Errorf("entry %s", entry())
	}
	if size := x.ok("admin", d("balancerCollectionStatus", "shop.orders")).Lookup("chunkSize").Double(); size != 64 {
		t.Errorf("chunkSize %v", size)
	}
	configure("chunkSize", 0.9)
	if !entry().Lookup("maxChunkSizeBytes").IsZero() {
		t.Errorf("entry %s", entry())
	}
	configure("enableBalancing", false, "enableAutoMerger", false)
	if doc := entry(); !doc.Lookup("noBalance").Boolean() || doc.Lookup("enableAutoMerge").Boolean() {
		t.Errorf("entry %s", doc)
	}
	if doc := x.first("config", d("find", "changelog", "filter", d("what", "configureCollectionBalancing"), "sort", d("$natural", -1))); len(doc.Lookup("details").Document()) != 5 {
		t.Errorf("log %s", doc)
	}
}

// E55: clearing a jumbo flag bumps the major version, once.
func TestE55ClearJumboFlag(t *testing.T) {
	x := newS0(t)
	before := x.chunks()
	x.ok("admin", d("clearJumboFlag", "shop.orders", "find", d("a", 5)))
	if after := x.chunks(); after[1] != before[1] {
		t.Errorf("a chunk that is not jumbo: %v", after)
	}
}

// E60, E62, E68: the chunks that collections begin with.
func TestE60E62E68FirstChunks(t *testing.T) {
	x := newS0(t)
	reply := x.ok("admin", d("shardCollection", "shop.items", "key", d("sku", 1)))
	if reply.Lookup("collectionsharded").StringValue() != "shop.items" || !reply.Lookup("collectionUUID").IsZero() {
		t.Errorf("answered %s", reply)
	}
	if name := x.ok("shop", d("listIndexes", "items")).Lookup("cursor", "firstBatch", "1", "name").StringValue(); name != "sku_1" {
		t.Errorf("index %s", name)
	}
	placed := func(ns string) (shards []string) {
		uuid := x.first("config", d("find", "collections", "filter", d("_id", ns))).Lookup("uuid")
		values, err := x.ok("config", d("find", "chunks", "filter", d("uuid", uuid), "sort", d("min", 1))).Lookup("cursor", "firstBatch").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			shards = append(shards, v.Document().Lookup("shard").StringValue())
		}
		return shards
	}
	if got := placed("shop.items"); len(got) != 1 || got[0] != "shardA" {
		t.Errorf("a ranged collection: %v", got)
	}
	x.ok("admin", d("shardCollection", "shop.h2", "key", d("tenant", 1, "_id", "hashed")))
	if got := placed("shop.h2"); len(got) != 1 {
		t.Errorf("hashed second: %v", got)
	}
	x.ok("admin", d("updateZoneKeyRange", "shop.zoned", "min", d("sku", "a"), "max", d("sku", "m"), "zone", "EU"))
	x.ok("admin", d("shardCollection", "shop.zoned", "key", d("sku", 1)))
	if got := placed("shop.zoned"); len(got) != 3 || got[0] != "shardA" || got[1] != "shardB" || got[2] != "shardB" {
		t.Errorf("with a zone: %v", got)
	}
}

// E70, E71: refining the key.
func TestE70E71Refine(t *testing.T) {
	x := newS0(t)
	refine := d("refineCollectionShardKey", "shop.orders", "key", d("a", 1, "b", 1))
	x.refusals("admin", []refusal{
		{refine, 72},
		{d("refineCollectionShardKey", "shop.orders", "key", d("b", 1)), 72},
		{d("refineCollectionShardKey", "shop.users", "key", d("_id", 1, "b", 1)), 118},
	})
	x.ok("shop", d("createIndexes", "orders", "indexes", bson.A{d("key", d("a", 1, "b", 1), "name", "a_1_b_1")}))
	before := x.chunks()
	x.ok("admin", refine)
	last := x.first("config", d("find", "chunks", "filter", d("max.a", bson.MaxKey{}, "max.b", d("$exists", true)), "sort", d("min", -1)))
	if last.Lookup("max", "b").Type != bson.TypeMaxKey || last.Lookup("min", "b").Type != bson.TypeMinKey {
		t.Errorf("the last chunk is %s", last)
	}
	if after := x.chunks(); after[0] != before[0] || after[2] != before[2] {
		t.Errorf("versions %v, before %v", after, before)
	}
}

// E72 to E76: collections that move as a whole, and resharding.
func TestE72ToE76Resharding(t *testing.T) {
	x := newS0(t)
	x.refusals("admin", []refusal{
		{d("moveCollection", "shop.orders", "toShard", "shardB"), 26},
		{d("moveCollection", "shop.users", "toShard", "nowhere"), 70},
		{d("abortReshardCollection", "shop.orders"), 339},
		{d("reshardCollection", "shop.orders", "key", d("b", 1), "unique", true), 2},
	})
	before := x.state()
	x.ok("admin", d("reshardCollection", "shop.orders", "key", d("a", 1)))
	if x.state() != before {
		t.Error("resharding to the same key has changed something")
	}
	x.ok("admin", d("moveCollection", "shop.users", "toShard", "shardB"))
	entry := x.first("config", d("find", "collections", "filter", d("_id", "shop.users")))
	if !entry.Lookup("unsplittable").Boolean() || entry.Lookup("key", "_id").Int32() != 1 {
		t.Errorf("entry %s", entry)
	}
	uuid := x.first("config", d("find", "collections", "filter", d("_id", "shop.orders"))).Lookup("uuid")
	x.ok("admin", d("unshardCollection", "shop.orders", "toShard", "shardB"))
	entry = x.first("config", d("find", "collections", "filter", d("_id", "shop.orders")))
	if !entry.Lookup("unsplittable").Boolean() || entry.Lookup("uuid").Equal(uuid) {
		t.Errorf("entry %s", entry)
	}
	// Tracked and not sharded: moveRange 118, getShardVersion answers.
	if code := x.code("admin", d("moveRange", "shop.users", "min", d("_id", 1), "toShard", "shardC")); code != 118 {
		t.Errorf("moveRange: code %d", code)
	}
	x.ok("admin", d("getShardVersion", "shop.users"))
}

// E80, E95, E100, E101: what the routing commands show.
func TestE80E95E100Routing(t *testing.T) {
	x := newS0(t)
	shard := x.ok("admin", d("listShards", 1, "filter", d("_id", "none"))).Lookup("shards", "1").Document()
	if shard.Lookup("_id").StringValue() != "shardB" || shard.Lookup("tags", "0").StringValue() != "EU" || shard.Lookup("state").Int32() != 1 || shard.Lookup("topologyTime").Type != bson.TypeTimestamp {
		t.Errorf("shard %s", shard)
	}
	shardMap := x.ok("admin", d("getShardMap", 1))
	if shardMap.Lookup("map", "shardA").StringValue() != "rsA/a1:27018,a2:27018" || shardMap.Lookup("hosts", "a2:27018").StringValue() != "shardA" ||
		shardMap.Lookup("connStrings", "rsB/b1:27018").StringValue() != "shardB" || shardMap.Lookup("map", "config").StringValue() == "" {
		t.Errorf("map %s", shardMap)
	}
	version := x.ok("admin", d("getShardVersion", "shop.orders", "fullMetadata", true))
	values, err := version.Lookup("chunks").Array().Values()
	if err != nil || len(values) != 3 || version.Lookup("version").Type != bson.TypeTimestamp || version.Lookup("versionEpoch").Type != bson.TypeObjectID {
		t.Errorf("version %s", version)
	}
	database := x.ok("admin", d("getShardVersion", "shop"))
	if database.Lookup("primaryShard").StringValue() != "shardA" || database.Lookup("version", "lastMod").Int32() != 1 {
		t.Errorf("database %s", database)
	}
}

// E103, E104, E106, E107: statistics with orphans among the documents.
func TestE103ToE107Statistics(t *testing.T) {
	x := newS0(t)
	for i := range 40 {
		x.ok("shop", d("insert", "orders", "documents", bson.A{d("_id", i, "a", i*10-100)}))
	}
	x.ok("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "shardB"))
	size := x.ok("shop", d("dataSize", "shop.orders", "min", d("a", 0), "max", d("a", 100)))
	if size.Lookup("numObjects").Int64() != 20 || size.Lookup("size").Type != bson.TypeInt64 { // ten are orphans
		t.Errorf("dataSize %s", size)
	}
	row := x.first("admin", d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d()), d("$match", d("ns", "shop.orders"))}, "cursor", d()))
	if a := row.Lookup("shards", "0").Document(); a.Lookup("numOrphanedDocs").Int32() != 10 || a.Lookup("numOwnedDocuments").Int32() != 10 {
		t.Errorf("distribution %s", row)
	}
	stats := x.ok("shop", d("collStats", "orders"))
	if !stats.Lookup("sharded").Boolean() || stats.Lookup("count").Int32() != 50 || stats.Lookup("nchunks").Int32() != 3 || stats.Lookup("shards", "shardA", "numOrphanDocs").Int32() != 10 || !stats.Lookup("numOrphanDocs").IsZero() {
		t.Errorf("collStats %s", stats)
	}
	if stats := x.ok("shop", d("collStats", "users")); stats.Lookup("sharded").Boolean() || stats.Lookup("primary").StringValue() != "shardA" || stats.Lookup("nchunks").Int32() != 1 {
		t.Errorf("collStats %s", stats)
	}
	// Trap 43: a count without a query counts orphans, one with a query does not.
	if n := x.ok("shop", d("count", "orders")).Lookup("n").Int32(); n != 50 {
		t.Errorf("%d documents with orphans", n)
	}
	if n := x.ok("shop", d("count", "orders", "query", d("a", d("$gte", -1000)))).Lookup("n").Int32(); n != 40 {
		t.Errorf("%d documents without orphans", n)
	}
}

// E109, and trap 42: which reads create a database.
func TestE109UnknownDatabases(t *testing.T) {
	x := newS0(t)
	cursor := x.ok("nodb", d("listCollections", 1)).Lookup("cursor").Document()
	if cursor.Lookup("ns").StringValue() != "nodb.$cmd.listCollections" || cursor.Lookup("id").Int64() != 0 || len(cursor.Lookup("firstBatch").Array()) != 5 {
		t.Errorf("cursor %s", cursor)
	}
	x.ok("nodb", d("dbStats", 1))
	known := func() int32 {
		return x.ok("config", d("count", "databases", "query", d("_id", "nodb"))).Lookup("n").Int32()
	}
	if known() != 0 {
		t.Error("listCollections or dbStats has made the database")
	}
	x.ok("nodb", d("collStats", "c"))
	if known() != 1 {
		t.Error("collStats has not made the database")
	}
}

// Traps 38 and 52: draining ends by taking the field away.
func TestTrap52DrainingIsUnset(t *testing.T) {
	x := newS0(t)
	x.ok("admin", d("removeShard", "shardC"))
	x.ok("config", d("update", "shards", "updates", bson.A{d("q", d("_id", "shardC"), "u", d("$unset", d("draining", 1)))}))
	if state := x.ok("admin", d("removeShard", "shardC")).Lookup("state").StringValue(); state != "started" {
		t.Errorf("state %q", state)
	}
}

// Trap 47: collections of old releases are empty, not errors.
func TestTrap47OldCollections(t *testing.T) {
	x := newS0(t)
	for _, name := range []string{"locks", "lockpings", "migrations"} {
		if doc := x.first("config", d("find", name)); doc != nil {
			t.Errorf("%s has %s", name, doc)
		}
	}
	x.sleep(time.Second)
}
