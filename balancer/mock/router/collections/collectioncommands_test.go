package collections_test

import (
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// changesOf are the entries of the changelog for a namespace, in order.
func changesOf(x *tester, ns string) string {
	x.T.Helper()
	values, err := x.OK("config", d("find", "changelog", "filter", d("ns", ns))).Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		x.T.Fatal(err)
	}
	var list []string
	for _, v := range values {
		list = append(list, v.Document().Lookup("what").StringValue())
	}
	return strings.Join(list, " ")
}

// A sharded collection keeps its UUID, chunks and zones, and gets a new epoch.
func TestRenameShardedCollection(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("_id", 1, "a", 5), d("_id", 2, "a", 500)}))
	x.OK("admin", d("updateZoneKeyRange", "shop.orders", "min", d("a", 100), "max", d("a", bson.MaxKey{}), "zone", "EU"))
	x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", -1), "to", "shardC"))
	before := x.First("config", d("find", "collections", "filter", d("_id", "shop.orders")))
	chunks := x.OK("config", d("count", "chunks", "query", d("uuid", before.Lookup("uuid")))).Lookup("n").Int32()
	x.OK("admin", d("renameCollection", "shop.orders", "to", "shop.sales"))
	after := x.First("config", d("find", "collections", "filter", d("_id", "shop.sales")))
	if !after.Lookup("uuid").Equal(before.Lookup("uuid")) || after.Lookup("lastmodEpoch").Equal(before.Lookup("lastmodEpoch")) || !after.Lookup("key").Equal(before.Lookup("key")) {
		t.Errorf("entry %s, before %s", after, before)
	}
	if n := x.OK("config", d("count", "collections", "query", d("_id", "shop.orders"))).Lookup("n").Int32(); n != 0 {
		t.Error("the old entry is still there")
	}
	if n := x.OK("config", d("count", "chunks", "query", d("uuid", before.Lookup("uuid")))).Lookup("n").Int32(); n != chunks {
		t.Errorf("%d chunks, had %d", n, chunks)
	}
	if tag := x.First("config", d("find", "tags")); tag.Lookup("ns").StringValue() != "shop.sales" {
		t.Errorf("zone %s", tag)
	}
	if n := x.OK("shop", d("count", "sales", "query", d("a", d("$gt", 0)))).Lookup("n").Int32(); n != 2 {
		t.Errorf("%d documents", n)
	}
	if log := changesOf(x, "shop.orders"); !strings.HasSuffix(log, "renameCollection.start renameCollection.metadata renameCollection.end") {
		t.Errorf("log %s", log)
	}
	if row := x.First("config", d("find", "placementHistory", "filter", d("nss", "shop.orders"), "sort", d("timestamp", -1))); len(row.Lookup("shards").Array()) > 5 {
		t.Errorf("placement %s", row)
	}
	x.OK("admin", d("moveChunk", "shop.sales", "find", d("a", 500), "to", "shardA"))
	x.CheckInvariants()
}

func TestRenameCollection(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("create", "view", "viewOn", "users", "pipeline", bson.A{}))
	x.OK("shop", d("insert", "other", "documents", bson.A{d("_id", 1)}))
	x.CheckRefusals("admin", []routertest.Refusal{
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
	if code := x.Code("shop", d("renameCollection", "shop.users", "to", "shop.x")); code != 13 {
		t.Errorf("elsewhere: code %d", code)
	}
	x.OK("admin", d("renameCollection", "shop.users", "to", "shop.other", "dropTarget", true))
	if n := x.OK("shop", d("count", "other")).Lookup("n").Int32(); n != 10 {
		t.Errorf("%d documents in the place of the target", n)
	}
	x.OK("admin", d("enableSharding", "fresh", "primaryShard", "shardA"))
	x.OK("admin", d("renameCollection", "shop.other", "to", "fresh.users"))
	x.CheckInvariants()
}

func TestCollMod(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("shop", d("collMod", "orders", "validator", d("a", d("$type", "number"))))
	if raw := reply.Lookup("raw"); !raw.IsZero() {
		t.Errorf("answered %s", reply)
	}
	if code := x.Run("shop", d("insert", "orders", "documents", bson.A{d("a", "x")})).Lookup("writeErrors", "0", "code").AsInt64(); code != 121 {
		t.Errorf("a document that does not fit: code %d", code)
	}
	x.OK("shop", d("collMod", "orders", "validator", d()))
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("a", "x")}))
	x.OK("shop", d("createIndexes", "orders", "indexes", bson.A{d("key", d("b", 1), "name", "b_1")}))
	reply = x.OK("shop", d("collMod", "orders", "index", d("keyPattern", d("b", 1), "hidden", true)))
	if old := reply.Lookup("hidden_old"); old.Type != bson.TypeBoolean || old.Boolean() {
		t.Errorf("answered %s", reply)
	}
	if index := x.OK("shop", d("listIndexes", "orders")).Lookup("cursor", "firstBatch", "2").Document(); !index.Lookup("hidden").Boolean() {
		t.Errorf("index %s", index)
	}
	if code := x.Code("shop", d("find", "orders", "hint", "b_1")); code != 2 {
		t.Errorf("a hint of a hidden index: code %d", code)
	}
	x.OK("shop", d("collMod", "orders", "index", d("name", "b_1", "hidden", false, "expireAfterSeconds", 9)))
	if index := x.OK("shop", d("listIndexes", "orders")).Lookup("cursor", "firstBatch", "2"); index.Document().Lookup("expireAfterSeconds").AsInt64() != 9 ||
		!index.Document().Lookup("hidden").IsZero() {
		t.Errorf("two changes at once: %s", index)
	}
	x.CheckRefusals("shop", []routertest.Refusal{
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
		{d("collMod", "orders", "index", d("name", "b_1", "hidden", true), "dryRun", true), 72},
		{d("collMod", "orders", "index", d("name", "b_1", "expireAfterSeconds", math.NaN())), 72},
		{d("collMod", "orders", "index", d("name", "b_1", "prepareUnique", "x")), 14},
		{d("collMod", "orders", "foo", 1), 40415},
		{d("collMod", "orders", "viewOn", "users", "pipeline", bson.A{}), 72},
	})
	x.OK("shop", d("create", "v", "viewOn", "users", "pipeline", bson.A{d("$match", d("_id", 1))}))
	x.OK("shop", d("collMod", "v", "viewOn", "users", "pipeline", bson.A{d("$match", d("_id", d("$lt", 3)))}))
	if n := x.OK("shop", d("count", "v")).Lookup("n").Int32(); n != 3 {
		t.Errorf("the view has %d documents", n)
	}
}

// A view can't write, and the error says where its pipeline does.
func TestViewsDoNotWrite(t *testing.T) {
	x := routertest.NewS0(t)
	limit, out := d("$limit", 1), d("$out", "x")
	for _, c := range []struct {
		stages bson.A
		want   string
	}{
		{bson.A{out}, "The aggregation stage $out in location 0 of the pipeline"},
		{bson.A{limit, limit, d("$merge", "x")}, "The aggregation stage $merge in location 2 of the pipeline"},
	} {
		reply := x.Run("shop", d("create", "w", "viewOn", "users", "pipeline", c.stages))
		want := "Invalid pipeline for view shop.w :: caused by :: " + c.want +
			" cannot be used in the view definition of shop.w because it writes to disk"
		if text, _ := reply.Lookup("errmsg").StringValueOK(); text != want {
			t.Errorf("%v: %s, want %s", c.stages, text, want)
		}
	}
}

func TestValidate(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("shop", d("validate", "users"))
	part := reply.Lookup("raw", "shardA").Document()
	if !reply.Lookup("valid").Boolean() || part.Lookup("nrecords").Int64() != 10 || part.Lookup("keysPerIndex", "_id_").Int64() != 10 {
		t.Errorf("answered %s", reply)
	}
	if code := x.Code("shop", d("validate", "nope")); code != 26 {
		t.Errorf("missing: code %d", code)
	}
}

func TestUntrackUnshardedCollection(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("admin", d("moveCollection", "shop.users", "toShard", "shardB"))
	untrack := d("untrackUnshardedCollection", "shop.users")
	if code := x.Code("admin", untrack); code != 96 {
		t.Errorf("away from the primary: code %d", code)
	}
	x.OK("admin", d("movePrimary", "shop", "to", "shardB"))
	x.OK("admin", untrack)
	if n := x.OK("config", d("count", "collections", "query", d("_id", "shop.users"))).Lookup("n").Int32(); n != 0 {
		t.Error("it is still tracked")
	}
	if n := x.OK("shop", d("count", "users")).Lookup("n").Int32(); n != 10 {
		t.Errorf("%d documents", n)
	}
	x.OK("admin", untrack)
	x.CheckRefusals("admin", []routertest.Refusal{{d("untrackUnshardedCollection", "shop.orders"), 73}})
	x.OK("admin", d("untrackUnshardedCollection", "shop.nope")) // as recorded
	x.CheckInvariants()
}

// The primary shard tells of a collection that is missing that there is nothing of it (recorded: the
// fields of replies of conf.nope).
func TestStatisticsOfAMissingCollection(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("logs", d("collStats", "nope"))
	shard := reply.Lookup("shards", "shardC").Document()
	for _, name := range []string{"size", "count", "nindexes"} {
		if n, is := shard.Lookup(name).Int32OK(); !is || n != 0 {
			t.Errorf("%s of the shard is %s, want 0", name, shard.Lookup(name))
		}
	}
	for _, doc := range []bson.Raw{reply, shard} {
		if details, is := doc.Lookup("indexDetails").DocumentOK(); !is || len(details) > 5 {
			t.Errorf("indexDetails in %s", doc)
		}
	}
	if !reply.Lookup("capped").IsZero() {
		t.Errorf("%s tells whether it is capped", reply)
	}
}
