package router_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// stateS0 is the state S0 of rules/03-helpers-examples-traps §7, but for the version numbers, which
// begin at 1|0 here.
const stateS0 = `{
  "shards": [
    {"id": "shardA", "host": "rsA/a1:27018,a2:27018"},
    {"id": "shardB", "host": "rsB/b1:27018", "zones": ["EU"]},
    {"id": "shardC", "host": "rsC/c1:27018"}],
  "databases": [{"name": "shop", "primary": "shardA"}, {"name": "logs", "primary": "shardC"}],
  "collections": [
    {"ns": "shop.orders", "key": {"a": 1}, "chunks": [
      {"shard": "shardA", "max": {"a": 0}}, {"shard": "shardA", "max": {"a": 100}}, {"shard": "shardB"}]},
    {"ns": "shop.geo", "key": {"region": 1, "id": 1}, "chunks": [{"shard": "shardA"}]},
    {"ns": "logs.raw", "key": {"k": 1}, "chunks": [{"shard": "shardC"}]}]
}`

func newS0(t *testing.T) *tester {
	t.Helper()
	x := described(t, stateS0)
	x.ok("admin", d("balancerStop", 1))
	for i := range 10 {
		x.ok("shop", d("insert", "users", "documents", bson.A{d("_id", i)}))
	}
	return x
}

// state is the config database, but for logs.
func (x *tester) state() string {
	text := ""
	for _, name := range []string{"collections", "chunks", "tags", "settings", "databases", "shards"} {
		text += fmt.Sprintln(x.ok("config", d("find", name, "batchSize", 1000)).Lookup("cursor"))
	}
	return text
}

// Cursors: batches, their limits, and killing.
func TestCursors(t *testing.T) {
	x := newS0(t)
	for i := range 250 {
		x.ok("shop", d("insert", "many", "documents", bson.A{d("_id", i)}))
	}
	reply := x.ok("shop", d("find", "many"))
	batch, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	id := reply.Lookup("cursor", "id").Int64()
	if len(batch) != 101 || id == 0 {
		t.Fatalf("first batch of %d, id %d", len(batch), id)
	}
	reply = x.ok("shop", d("getMore", id, "collection", "many", "batchSize", 100))
	if batch, _ = reply.Lookup("cursor", "nextBatch").Array().Values(); len(batch) != 100 {
		t.Errorf("second batch of %d", len(batch))
	}
	if code := x.code("shop", d("getMore", id, "collection", "other")); code != 13 {
		t.Errorf("another namespace: code %d", code)
	}
	x.ok("shop", d("killCursors", "many", "cursors", bson.A{id}))
	if code := x.code("shop", d("getMore", id, "collection", "many")); code != 43 {
		t.Errorf("a killed cursor: code %d", code)
	}
	reply = x.ok("shop", d("find", "many", "limit", 3, "sort", d("_id", -1), "projection", d("_id", 1)))
	if got := reply.Lookup("cursor", "firstBatch", "0", "_id").Int32(); got != 249 || reply.Lookup("cursor", "id").Int64() != 0 {
		t.Errorf("sorted: %s", reply)
	}
	for _, backwards := range []bson.D{d("find", "many", "limit", 3, "sort", d("$natural", -1)), d("find", "many", "limit", 3, "hint", d("$natural", -1))} {
		reply = x.ok("shop", backwards)
		if got := reply.Lookup("cursor", "firstBatch", "2", "_id").Int32(); got != 247 {
			t.Errorf("from the end: %s", reply)
		}
	}
	reply = x.ok("shop", d("find", "many", "limit", 3, "sort", d("$natural", 1)))
	if got := reply.Lookup("cursor", "firstBatch", "2", "_id").Int32(); got != 2 {
		t.Errorf("as they come: %s", reply)
	}
	if code := x.code("shop", d("find", "many", "tailable", true)); code != 2 {
		t.Errorf("tailable: code %d", code)
	}
	for _, wrong := range []bson.D{d("$natural", 0), d("$natural", "x"), d("$natural", 1, "a", 1)} {
		if code := x.code("shop", d("find", "many", "sort", wrong)); code != 2 {
			t.Errorf("sort %v: code %d", wrong, code)
		}
	}
}

// An awaitable hello answers when its time is over, and needs both arguments.
func TestHelloTellsTheCommonCompressors(t *testing.T) {
	x := newS0(t)
	reply := x.ok("admin", d("hello", 1, "compression", bson.A{"zstd", "lz4", "zlib"}))
	if first, err := reply.IndexErr(0); err != nil || first.Key() != "compression" || first.Value().String() != `["zstd","zlib"]` {
		t.Errorf("%s", reply)
	}
	for _, offered := range []any{nil, bson.A{}, bson.A{"lz4"}, "zlib"} {
		if reply := x.ok("admin", d("hello", 1, "compression", offered)); !reply.Lookup("compression").IsZero() {
			t.Errorf("of %v: %s", offered, reply)
		}
	}
}

func TestHello(t *testing.T) {
	x := newS0(t)
	reply := x.ok("admin", d("hello", 1, "helloOk", true))
	if reply.Lookup("msg").StringValue() != "isdbgrid" || !reply.Lookup("isWritablePrimary").Boolean() || !reply.Lookup("helloOk").Boolean() {
		t.Errorf("hello %s", reply)
	}
	if !x.ok("admin", d("isMaster", 1)).Lookup("ismaster").Boolean() {
		t.Error("isMaster without ismaster")
	}
	if code := x.code("admin", d("hello", 1, "maxAwaitTimeMS", 1)); code != 51760 {
		t.Errorf("code %d", code)
	}
	x.ok("admin", d("hello", 1, "maxAwaitTimeMS", 1, "topologyVersion", reply.Lookup("topologyVersion")))
}
