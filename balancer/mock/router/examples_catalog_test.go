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
