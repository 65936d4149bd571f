package router_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// refusals runs commands that must fail with a code and change nothing.
func (x *tester) refusals(db string, list []refusal) {
	x.t.Helper()
	for _, tt := range list {
		before := x.state()
		if code := x.code(db, tt.command); code != tt.code {
			x.t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
		if x.state() != before {
			x.t.Errorf("%v was refused and changed something", tt.command)
		}
	}
}

type refusal struct {
	command bson.D
	code    int
}

// whats are the entries of the changelog for a namespace, in order.
func (x *tester) whats(ns string) string {
	x.t.Helper()
	values, err := x.ok("config", d("find", "changelog", "filter", d("ns", ns))).Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		x.t.Fatal(err)
	}
	var list []string
	for _, v := range values {
		list = append(list, v.Document().Lookup("what").StringValue())
	}
	return strings.Join(list, " ")
}

func (x *tester) first(db string, command bson.D) bson.Raw {
	x.t.Helper()
	doc, _ := x.ok(db, command).Lookup("cursor", "firstBatch", "0").DocumentOK()
	return doc
}

func (x *tester) invariants() {
	x.t.Helper()
	x.cluster.Lock()
	defer x.cluster.Unlock()
	if err := x.cluster.Invariants(); err != nil {
		x.t.Error(err)
	}
}

// A sharded collection keeps its UUID, chunks and zones, and gets a new epoch.
func TestRenameShardedCollection(t *testing.T) {
	x := newS0(t)
	x.ok("shop", d("insert", "orders", "documents", bson.A{d("_id", 1, "a", 5), d("_id", 2, "a", 500)}))
	x.ok("admin", d("updateZoneKeyRange", "shop.orders", "min", d("a", 100), "max", d("a", bson.MaxKey{}), "zone", "EU"))
	x.ok("admin", d("moveChunk", "shop.orders", "find", d("a", -1), "to", "shardC"))
	before := x.first("config", d("find", "collections", "filter", d("_id", "shop.orders")))
	chunks := x.ok("config", d("count", "chunks", "query", d("uuid", before.Lookup("uuid")))).Lookup("n").Int32()
	x.ok("admin", d("renameCollection", "shop.orders", "to", "shop.sales"))
	after := x.first("config", d("find", "collections", "filter", d("_id", "shop.sales")))
	if !after.Lookup("uuid").Equal(before.Lookup("uuid")) || after.Lookup("lastmodEpoch").Equal(before.Lookup("lastmodEpoch")) || !after.Lookup("key").Equal(before.Lookup("key")) {
		t.Errorf("entry %s, before %s", after, before)
	}
	if n := x.ok("config", d("count", "collections", "query", d("_id", "shop.orders"))).Lookup("n").Int32(); n != 0 {
		t.Error("the old entry is still there")
	}
	if n := x.ok("config", d("count", "chunks", "query", d("uuid", before.Lookup("uuid")))).Lookup("n").Int32(); n != chunks {
		t.Errorf("%d chunks, had %d", n, chunks)
	}
	if tag := x.first("config", d("find", "tags")); tag.Lookup("ns").StringValue() != "shop.sales" {
		t.Errorf("zone %s", tag)
	}
	if n := x.ok("shop", d("count", "sales", "query", d("a", d("$gt", 0)))).Lookup("n").Int32(); n != 2 {
		t.Errorf("%d documents", n)
	}
	if log := x.whats("shop.orders"); !strings.HasSuffix(log, "renameCollection.start renameCollection.metadata renameCollection.end") {
		t.Errorf("log %s", log)
	}
	if row := x.first("config", d("find", "placementHistory", "filter", d("nss", "shop.orders"), "sort", d("timestamp", -1))); len(row.Lookup("shards").Array()) > 5 {
		t.Errorf("placement %s", row)
	}
	x.ok("admin", d("moveChunk", "shop.sales", "find", d("a", 500), "to", "shardA"))
	x.invariants()
}

func TestRenameCollection(t *testing.T) {
	x := newS0(t)
	x.ok("shop", d("create", "view", "viewOn", "users", "pipeline", bson.A{}))
	x.ok("shop", d("insert", "other", "documents", bson.A{d("_id", 1)}))
	x.refusals("admin", []refusal{
		{d("renameCollection", "shop.nope", "to", "shop.x"), 26},
		{d("renameCollection", "shop.users", "to", "shop.users"), 20},
		{d("renameCollection", "shop.users", "to", "shop.other"), 48},
		{d("renameCollection", "shop.users", "to", "shop.view"), 48},
		{d("renameCollection", "shop.view", "to", "shop.x"), 166},
		{d("renameCollection", "shop.users", "to", "config.x"), 20},
		{d("renameCollection", "shop.users", "to", "logs.x"), 125},
		{d("renameCollection", "shop.orders", "to", "new.x"), 125},
		{d("renameCollection", "shop.orders", "to", "shop."+strings.Repeat("x", 240)), 73},
		{d("renameCollection", "shop.users"), 40414},
		{d("renameCollection", "shop.users", "to", "shop.x", "foo", 1), 40415},
	})
	if code := x.code("shop", d("renameCollection", "shop.users", "to", "shop.x")); code != 13 {
		t.Errorf("elsewhere: code %d", code)
	}
	x.ok("admin", d("renameCollection", "shop.users", "to", "shop.other", "dropTarget", true))
	if n := x.ok("shop", d("count", "other")).Lookup("n").Int32(); n != 10 {
		t.Errorf("%d documents in the place of the target", n)
	}
	x.ok("admin", d("renameCollection", "shop.other", "to", "fresh.users"))
	if id := x.first("config", d("find", "databases", "filter", d("_id", "fresh"))); id.Lookup("primary").StringValue() != "shardA" {
		t.Errorf("database %s", id)
	}
	x.invariants()
}

func TestCollMod(t *testing.T) {
	x := newS0(t)
	reply := x.ok("shop", d("collMod", "orders", "validator", d("a", d("$type", "number"))))
	if raw := reply.Lookup("raw"); !raw.IsZero() {
		t.Errorf("answered %s", reply)
	}
	if code := x.run("shop", d("insert", "orders", "documents", bson.A{d("a", "x")})).Lookup("writeErrors", "0", "code").AsInt64(); code != 121 {
		t.Errorf("a document that does not fit: code %d", code)
	}
	x.ok("shop", d("collMod", "orders", "validator", d()))
	x.ok("shop", d("insert", "orders", "documents", bson.A{d("a", "x")}))
	x.ok("shop", d("createIndexes", "orders", "indexes", bson.A{d("key", d("b", 1), "name", "b_1")}))
	reply = x.ok("shop", d("collMod", "orders", "index", d("keyPattern", d("b", 1), "hidden", true)))
	if old := reply.Lookup("hidden_old"); old.Type != bson.TypeBoolean || old.Boolean() {
		t.Errorf("answered %s", reply)
	}
	if index := x.ok("shop", d("listIndexes", "orders")).Lookup("cursor", "firstBatch", "2").Document(); !index.Lookup("hidden").Boolean() {
		t.Errorf("index %s", index)
	}
	x.ok("shop", d("collMod", "orders", "index", d("name", "b_1", "hidden", false)))
	x.refusals("shop", []refusal{
		{d("collMod", "nope", "validator", d()), 26},
		{d("collMod", "orders", "index", d("name", "nope", "hidden", true)), 27},
		{d("collMod", "orders", "index", d("hidden", true)), 72},
		{d("collMod", "orders", "index", d("name", "b_1")), 72},
		{d("collMod", "orders", "index", d("name", "_id_", "hidden", true)), 2},
		{d("collMod", "orders", "index", 5), 14},
		{d("collMod", "orders", "validationLevel", "some"), 2},
		{d("collMod", "orders", "changeStreamPreAndPostImages", d("enabled", 1)), 14},
		{d("collMod", "orders", "changeStreamPreAndPostImages", d("on", true)), 40415},
		{d("collMod", "orders", "cappedSize", 4096), 72},
		{d("collMod", "orders", "index", d("name", "b_1", "unique", true)), 72},
		{d("collMod", "orders", "index", d("name", "b_1", "prepareUnique", "x")), 14},
		{d("collMod", "orders", "foo", 1), 40415},
		{d("collMod", "orders", "viewOn", "users", "pipeline", bson.A{}), 72},
	})
	x.ok("shop", d("create", "v", "viewOn", "users", "pipeline", bson.A{d("$match", d("_id", 1))}))
	x.ok("shop", d("collMod", "v", "viewOn", "users", "pipeline", bson.A{d("$match", d("_id", d("$lt", 3)))}))
	if n := x.ok("shop", d("count", "v")).Lookup("n").Int32(); n != 3 {
		t.Errorf("the view has %d documents", n)
	}
}

func TestValidate(t *testing.T) {
	x := newS0(t)
	reply := x.ok("shop", d("validate", "users"))
	part := reply.Lookup("raw", "rsA/a1:27018,a2:27018").Document()
	if !reply.Lookup("valid").Boolean() || part.Lookup("nrecords").Int64() != 10 || part.Lookup("keysPerIndex", "_id_").Int64() != 10 {
		t.Errorf("answered %s", reply)
	}
	if code := x.code("shop", d("validate", "nope")); code != 26 {
		t.Errorf("missing: code %d", code)
	}
}

// rules/03-commands §1.8.
func TestSplitVector(t *testing.T) {
	x := newS0(t)
	var docs bson.A
	for i := range 3000 {
		docs = append(docs, d("a", i%100, "pad", strings.Repeat("x", 1000)))
	}
	x.ok("shop", d("insert", "orders", "documents", docs))
	vector := func(more ...any) bson.D {
		return append(d("splitVector", "shop.orders", "keyPattern", d("a", 1)), d(more...)...)
	}
	points := func(command bson.D) int {
		values, err := x.ok("shop", command).Lookup("splitKeys").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		return len(values)
	}
	bounds := []any{"min", d("a", 0), "max", d("a", 100)}
	if n := points(vector(append(bounds, "maxChunkSize", 1)...)); n != 5 { // 3000 keys in pieces of more than 503
		t.Errorf("%d points", n)
	}
	if n := points(vector(append(bounds, "maxChunkSize", 64)...)); n != 0 {
		t.Errorf("%d points of what is small enough", n)
	}
	median := x.ok("shop", vector(append(bounds, "force", true)...)).Lookup("splitKeys", "0", "a").Int32()
	if median != 50 {
		t.Errorf("the median is %d", median)
	}
	x.refusals("shop", []refusal{
		{d("splitVector", "logs.raw", "keyPattern", d("k", 1), "maxChunkSize", 1), 20},
		{d("splitVector", "shop.orders", "maxChunkSize", 1), 8},
		{vector("min", d("a", 0), "maxChunkSize", 1), 8},
		{vector(bounds...), 72},
		{vector(append(bounds, "maxChunkSize", 2000)...), 72},
		{vector(append(bounds, "maxChunkSize", 1, "maxChunkObjects", 0)...), 72},
		{vector("min", d("a", 50), "max", d("a", 150), "maxChunkSize", 1), 72},
		{d("splitVector", "shop.nope", "keyPattern", d("k", 1), "maxChunkSize", 1), 26},
		{d("splitVector", "shop.orders", "keyPattern", d("zz", 1), "maxChunkSize", 1), 27},
	})
}

func TestUntrackUnshardedCollection(t *testing.T) {
	x := newS0(t)
	x.ok("admin", d("moveCollection", "shop.users", "toShard", "shardB"))
	untrack := d("untrackUnshardedCollection", "shop.users")
	if code := x.code("admin", untrack); code != 96 {
		t.Errorf("away from the primary: code %d", code)
	}
	x.ok("admin", d("movePrimary", "shop", "to", "shardB"))
	x.ok("admin", untrack)
	if n := x.ok("config", d("count", "collections", "query", d("_id", "shop.users"))).Lookup("n").Int32(); n != 0 {
		t.Error("it is still tracked")
	}
	if n := x.ok("shop", d("count", "users")).Lookup("n").Int32(); n != 10 {
		t.Errorf("%d documents", n)
	}
	x.ok("admin", untrack)
	x.refusals("admin", []refusal{{d("untrackUnshardedCollection", "shop.orders"), 73}})
	x.ok("admin", d("untrackUnshardedCollection", "shop.nope")) // as recorded
	x.invariants()
}
