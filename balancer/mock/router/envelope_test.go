package router_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/wire"
)

// The order in which a mongos rejects a request (rules/03-commands §0.4) and its parse
// rules (§0.5): each command breaks several rules, the first one counts.
func TestOrderOfRejections(t *testing.T) {
	null := bson.Null{}
	tests := []struct {
		name, db string
		command  bson.D
		code     int
	}{
		{"unknown before anything else", "test", d("nope", 1, "maxTimeMS", "x"), 59},
		{"maxTimeMS is not a number", "test", d("moveRange", "shop.orders", "toShard", "x", "maxTimeMS", "x"), 2},
		{"maxTimeMS below zero", "test", d("moveRange", "shop.orders", "toShard", "x", "maxTimeMS", -1), 2},
		{"maxTimeMS beyond 32 bits", "test", d("moveRange", "shop.orders", "toShard", "x", "maxTimeMS", int64(1)<<40), 2},
		{"the fields before maxTimeMS", "test", d("moveRange", "shop.orders", "maxTimeMS", -1), 40414},
		{"maxTimeMS before the fields that are read late", "test", d("aggregate", "x", "maxTimeMS", -1), 2},
		{"the write concern before them, too", "test", d("aggregate", "x", "writeConcern", d("w", 99)), 9},
		{"but a collection's name before all", "test", d("distinct", 1, "maxTimeMS", -1), 73},
		{"a bad write concern before one that is not taken", "admin", d("ping", 1, "writeConcern", d("w", 99)), 9},
		{"$maxTimeMs", "test", d("moveRange", "shop.orders", "$maxTimeMs", 1), 72},
		{"the API", "test", d("moveRange", "shop.orders", "toShard", "x", "apiVersion", "1", "apiStrict", true), 323},
		{"the fields before the API", "test", d("moveRange", "shop.orders", "apiVersion", "1", "apiStrict", true), 40414},
		{"collStats is not in the API", "shop", d("collStats", "orders", "apiVersion", "1", "apiStrict", true), 323},
		{"find is in the API", "shop", d("find", "orders", "apiVersion", "1", "apiStrict", true), 0},
		{"listDatabases is in the API", "admin", d("listDatabases", 1, "apiVersion", "1", "apiStrict", true), 0},
		{"a missing field before the write concern", "test", d("moveRange", "shop.orders", "readConcern", 1), 40414},
		{"a null field is missing", "test", d("moveRange", "shop.orders", "toShard", null), 40414},
		{"a bad namespace", "admin", d("moveRange", "shop", "toShard", "shardA"), 73},
		{"the admin check before the namespace", "test", d("moveRange", "shop", "toShard", "shardA"), 13},
		{"but after an old-style one", "test", d("split", "shop", "middle", d("a", 1)), 73},
		{"a namespace of another type", "test", d("moveRange", 5, "toShard", "shardA"), 14},
		{"a namespace of another type, old style", "test", d("split", 5), 2},
		{"a namespace of another type, old style", "test", d("mergeChunks", 5), 2},
		{"a namespace of another type, old style", "test", d("shardCollection", 5, "key", d("a", 1)), 2},
		{"an empty shard", "test", d("moveRange", "shop.orders", "toShard", ""), 4},
		{"an optional bool may not be null", "test", d("moveChunk", "shop.orders", "to", "shardA", "waitForDelete", null), 14},
		{"another optional field may", "admin", d("moveRange", "shop.orders", "min", d("a", 0), "max", null, "forceJumbo", null, "toShard", "shardA"), 0},
		{"a strict command and an unknown field", "test", d("balancerCollectionStatus", "shop.geo", "x", 1), 40415},
		{"generic fields are never unknown", "admin", d("balancerCollectionStatus", "shop.geo", "comment", "hi", "lsid", routertest.LSID(1)), 0},
		{"the read concern's type", "test", d("balancerStop", 1, "readConcern", 1, "writeConcern", d("w", 1)), 14},
		{"the read concern's level", "test", d("balancerStop", 1, "readConcern", d("level", "best")), 2},
		{"the write concern before the read concern's level", "local", d("balancerStop", 1, "readConcern", d("level", "majority"), "writeConcern", d("w", 1)), 72},
		{"a level that is not supported", "local", d("balancerStop", 1, "readConcern", d("level", "majority")), 72},
		{"local is always supported", "admin", d("balancerStatus", 1, "readConcern", d("level", "local")), 0},
		{"reads take levels", "shop", d("find", "orders", "readConcern", d("level", "majority")), 0},
		{"the local database before duplicates", "local", append(d("balancerStop", 1), d("balancerStop", 1)...), 20},
		{"a bad database name", "a b", d("find", "x"), 73},
		{"duplicates before the admin check", "test", append(d("balancerStop", 1), d("balancerStop", 1)...), 9},
		{"only on admin", "test", d("balancerStop", 1), 13},
		{"transactions", "shop", d("insert", "x", "documents", bson.A{d("a", 1)}, "lsid", routertest.LSID(1), "txnNumber", int64(1), "autocommit", false, "startTransaction", true), 263},
		{"numbers are cut", "admin", d("configureCollectionBalancing", "shop.orders", "chunkSize", decimal(t, "64.7")), 0},
		{"a stage that makes documents comes first", "shop", d("aggregate", "orders", "pipeline", bson.A{d("$match", d()), d("$collStats", d())}, "cursor", d()), 40602},
		{"flushRouterConfig takes names", "admin", d("flushRouterConfig", "no.such"), 0},
		{"flushRouterConfig takes no objects", "admin", d("flushRouterConfig", d()), 13111},
		{"a split point that can't be stored", "admin", d("split", "shop.orders", "middle", d("a", bson.Regex{Pattern: "x"})), 2},
		{"a bound with too many fields, the other computed", "admin", d("moveRange", "shop.orders", "min", d("a", 1, "b", 1), "toShard", "shardC"), 349},
		{"a bound with another field, the other computed", "admin", d("moveRange", "shop.orders", "min", d("b", 1), "toShard", "shardC"), 16634},
		{"a bound with another field", "admin", d("moveRange", "shop.orders", "min", d("b", 1), "max", d("b", 2), "toShard", "shardC"), 13388},
		{"a shard's host does not name it here", "admin", d("moveRange", "shop.orders", "min", d("a", 1), "toShard", "rsC/c1:27018"), 70},
		{"sharding admin", "admin", d("shardCollection", "admin.x", "key", d("a", 1)), 20},
		{"another collection's UUID", "admin", d("shardCollection", "shop.users", "key", d("_id", 1), "collectionUUID", bson.Binary{Subtype: 4, Data: make([]byte, 16)}), 361},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := routertest.NewS0(t)
			reply := x.Run(tt.db, tt.command)
			code, _ := reply.Lookup("code").AsInt64OK()
			if ok, _ := reply.Lookup("ok").AsFloat64OK(); int(code) != tt.code || (ok == 1) != (tt.code == 0) {
				t.Errorf("%v on %s answered %s, want code %d", tt.command, tt.db, reply, tt.code)
			}
		})
	}
}

func decimal(t *testing.T, text string) bson.Decimal128 {
	t.Helper()
	v, err := bson.ParseDecimal128(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An error reply has its fields in the order of rules/03-commands §0.2, then gossip.
func TestErrorReplyFields(t *testing.T) {
	x := routertest.NewS0(t)
	for name, tt := range map[string]struct {
		command bson.D
		want    []string
	}{
		"with a code":    {d("moveRange", "shop.orders", "toShard", "shardB"), []string{"ok", "errmsg", "code", "codeName", "$clusterTime", "operationTime"}},
		"without a code": {d("split", "shop.orders"), []string{"ok", "errmsg", "$clusterTime", "operationTime"}},
		"stale config": {d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", 0), d("a", bson.MaxKey{})}),
			[]string{"ok", "errmsg", "code", "codeName", "ns", "vReceived", "vWanted", "shardId", "$clusterTime", "operationTime"}},
	} {
		elems, err := x.Run("admin", tt.command).Elements()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range elems {
			got = append(got, e.Key())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: fields %q, want %q", name, got, tt.want)
		}
	}
}

// Updates of the shard key need a retryable write and may not be multi.
func TestUpdatesOfTheShardKey(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("_id", 1, "a", 10)}))
	update := func(multi bool, more ...any) bson.D {
		return append(d("update", "orders", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("a", 500)), "multi", multi)}), d(more...)...)
	}
	for _, tt := range []struct {
		command bson.D
		code    int64
	}{{update(false), 20}, {update(true), 72}, {update(false, "lsid", routertest.LSID(1), "txnNumber", int64(1)), 0}} {
		code, _ := x.Run("shop", tt.command).Lookup("writeErrors", "0", "code").AsInt64OK()
		if code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	reply := x.OK("shop", d("find", "orders", "filter", d("a", 500)))
	if reply.Lookup("cursor", "firstBatch", "0", "_id").Int32() != 1 {
		t.Errorf("the document did not move to its owner: %s", reply)
	}
}

// What is written into the config database by hand can't break the mock.
func TestConfigByHand(t *testing.T) {
	x := routertest.NewS0(t)
	refused := func(command bson.D) {
		t.Helper()
		if x.Run("config", command).Lookup("writeErrors").IsZero() {
			t.Errorf("%v was accepted", command)
		}
	}
	update := func(coll string, id any, u bson.D) bson.D {
		return d("update", coll, "updates", bson.A{d("q", d("_id", id), "u", u)})
	}
	refused(d("insert", "collections", "documents", bson.A{d("_id", "a.b", "key", d("x", 1))}))
	refused(update("collections", "shop.orders", d("$set", d("key", d("z", 1)))))
	refused(d("delete", "collections", "deletes", bson.A{d("q", d(), "limit", 0)}))
	refused(d("insert", "chunks", "documents", bson.A{d("_id", 1)}))
	refused(d("insert", "databases", "documents", bson.A{d("_id", "new", "primary", "nowhere")}))
	refused(update("databases", "shop", d("$set", d("primary", "nowhere"))))
	refused(d("insert", "shards", "documents", bson.A{d("_id", "shardX")}))
	x.OK("config", update("collections", "shop.orders", d("$set", d("noBalance", true))))
	x.OK("config", d("insert", "shards", "documents", bson.A{d("_id", "shard0", "host", "rsX/x:1", "state", 1)}))
	x.OK("fresh", d("insert", "c", "documents", bson.A{d("a", 1)}))
	x.OK("admin", d("shardCollection", "fresh.h", "key", d("_id", "hashed")))
	x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shard0"))
}

// admin is an ordinary database to read and write, but is never sharded.
func TestAdminDatabase(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("admin", d("insert", "notes", "documents", bson.A{d("_id", 1)}))
	x.OK("admin", d("update", "notes", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("x", 1)))}))
	if reply := x.OK("admin", d("find", "notes")); reply.Lookup("cursor", "firstBatch", "0", "x").Int32() != 1 {
		t.Errorf("found %s", reply)
	}
	if reply := x.OK("admin", d("listCollections", 1)); reply.Lookup("cursor", "firstBatch", "0", "name").StringValue() != "notes" {
		t.Errorf("listed %s", reply)
	}
	x.OK("admin", d("delete", "notes", "deletes", bson.A{d("q", d(), "limit", 0)}))
}

// config.chunks is listed, counted and indexed like other collections.
func TestChunksAsACollection(t *testing.T) {
	x := routertest.NewS0(t)
	if reply := x.OK("config", d("count", "chunks")); reply.Lookup("n").Int32() != 5 {
		t.Errorf("count %s", reply)
	}
	if reply := x.OK("config", d("collStats", "chunks")); reply.Lookup("count").Int32() != 5 {
		t.Errorf("collStats %s", reply)
	}
	reply := x.OK("config", d("listIndexes", "chunks"))
	if indexes, err := reply.Lookup("cursor", "firstBatch").Array().Values(); err != nil || len(indexes) != 5 {
		t.Errorf("listIndexes %s", reply)
	}
	uuid := x.OK("config", d("find", "collections", "filter", d("_id", "shop.orders"))).Lookup("cursor", "firstBatch", "0", "uuid")
	query := d("uuid", uuid, "shard", "shardA")
	if reply := x.OK("config", d("count", "chunks", "query", query)); reply.Lookup("n").Int32() != 2 {
		t.Errorf("count of a shard %s", reply)
	}
	for _, tt := range []struct {
		sort bson.D
		want []int32
	}{{d("min", 1), []int32{0, 100}}, {d("min", -1), []int32{100, 0}}} {
		reply := x.OK("config", d("find", "chunks", "filter", d("uuid", uuid, "min.a", d("$gte", 0)), "sort", tt.sort, "limit", 2))
		for i, want := range tt.want {
			if got := reply.Lookup("cursor", "firstBatch", string(rune('0'+i)), "min", "a").Int32(); got != want {
				t.Errorf("sorted by %v: %s", tt.sort, reply)
			}
		}
	}
}

// A refusal of shardCollection leaves nothing behind.
func TestRefusedShardingLeavesNothing(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("admin", d("updateZoneKeyRange", "shop.z", "min", d("a", 1), "max", d("a", 5), "zone", "EU"))
	if code := x.Code("admin", d("shardCollection", "shop.z", "key", d("a", "hashed"))); code != 72 {
		t.Errorf("a zone bound that is not a hash: code %d", code)
	}
	x.OK("admin", d("updateZoneKeyRange", "shop.z", "min", d("a", 1), "max", d("a", 5), "zone", nil))
	x.OK("config", d("insert", "tags", "documents", bson.A{d("ns", "shop.z", "min", d("a", 1), "max", d("a", 5), "tag", "nobody")}))
	if code := x.Code("admin", d("shardCollection", "shop.z", "key", d("a", 1))); code != 405 {
		t.Errorf("a zone without shards: code %d", code)
	}
	for _, id := range []string{"shardA", "shardB", "shardC"} {
		x.OK("config", d("update", "shards", "updates", bson.A{d("q", d("_id", id), "u", d("$set", d("draining", true)))}))
	}
	if code := x.Code("admin", d("shardCollection", "shop.h", "key", d("_id", "hashed"))); code != 70 {
		t.Errorf("all shards are draining: code %d", code)
	}
	reply := x.OK("shop", d("listCollections", 1, "nameOnly", true, "filter", d("name", d("$in", bson.A{"z", "h"}))))
	if !reply.Lookup("cursor", "firstBatch", "0").IsZero() {
		t.Errorf("left behind: %s", reply)
	}
}

// The chunk size of config.settings counts at once, though no round has read it.
func TestChunkSizeIsReadNow(t *testing.T) {
	x := routertest.NewS0(t)
	for i := range 250 {
		x.OK("shop", d("insert", "orders", "documents", bson.A{d("_id", i, "a", 10, "pad", make([]byte, 16<<10))}))
	}
	x.OK("config", d("update", "settings", "updates", bson.A{d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true)}))
	if code := x.Code("admin", d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shardC")); code != 153 {
		t.Errorf("code %d, want 153", code)
	}
}

// createIndexes makes all indexes or none.
func TestIndexesTogether(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "users", "documents", bson.A{d("x", 1), d("x", 1)}))
	code := x.Code("shop", d("createIndexes", "users", "indexes", bson.A{d("key", d("y", 1), "name", "y"), d("key", d("x", 1), "name", "x", "unique", true)}))
	if code != 11000 {
		t.Errorf("code %d", code)
	}
	indexes, err := x.OK("shop", d("listIndexes", "users")).Lookup("cursor", "firstBatch").Array().Values()
	if err != nil || len(indexes) != 1 {
		t.Errorf("%d indexes, %v", len(indexes), err)
	}
}

// balancerStop waits for the round in progress, no longer than maxTimeMS.
func TestBalancerStopWaits(t *testing.T) {
	topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
	  {"shard": "a", "max": {"k": 0}, "bytes": "10GB", "docs": 100}, {"shard": "a", "bytes": "10GB", "docs": 100}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, realTime := range []bool{false, true} {
		c, err := mock.New(mock.Config{Topology: topology, RealTime: realTime})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
		for !x.OK("admin", d("balancerStatus", 1)).Lookup("inBalancerRound").Boolean() || len(x.Migrations()) == 0 {
			time.Sleep(time.Millisecond)
		}
		if code := x.Code("admin", d("balancerStop", 1, "maxTimeMS", 50)); code != 50 {
			t.Errorf("real time %v: code %d, want 50", realTime, code)
		}
		if mode := x.OK("admin", d("balancerStatus", 1)).Lookup("mode").StringValue(); mode != "off" {
			t.Errorf("mode %q", mode)
		}
		if !realTime {
			x.OK("admin", d("balancerStop", 1))
			if len(x.Migrations()) != 0 {
				t.Error("balancerStop did not wait for the round")
			}
		}
	}
}

// A cluster that closes ends the waits of its clients.
func TestCloseEndsWaits(t *testing.T) {
	topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"stopped": true}}, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
	  {"shard": "a", "bytes": "900GB", "docs": 100}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := mock.New(mock.Config{Topology: topology, RealTime: true})
	if err != nil {
		t.Fatal(err)
	}
	x := &tester{T: t, Router: router.New(c, nil), Cluster: c}
	body, err := bson.Marshal(d("moveChunk", "x.y", "find", d("k", 1), "to", "b", "forceJumbo", true))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bson.Raw, 1)
	go func() {
		ended <- x.Router.Handle(context.Background(), wire.Request{Database: "admin", Command: "moveChunk", Body: body, Client: &wire.ClientConn{}})
	}()
	for len(x.Migrations()) == 0 {
		time.Sleep(time.Millisecond)
	}
	c.Close()
	if reply := <-ended; reply.Lookup("code").Int32() != 91 {
		t.Errorf("answered %s", reply)
	}
}
