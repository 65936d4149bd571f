package writes_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/router/routertest"
)

// What an operation answers, and the sums, are as the manual of bulkWrite and
// the drivers' specification of it have them.
func TestBulkWriteAnswers(t *testing.T) {
	const none = `"nErrors":0,"nInserted":0,"nMatched":0,"nModified":0,"nUpserted":0,"nDeleted":0`
	one := func(name string) string { return strings.Replace(none, `"`+name+`":0`, `"`+name+`":1`, 1) }
	duplicate := `"code":11000,"errmsg":"E11000 duplicate key error collection: doc1.e index: _id_ dup key: { _id: 3 }","keyPattern":{"_id":1},"keyValue":{"_id":3}`
	tests := []struct {
		name    string
		command bson.D
		items   string
		sums    string
	}{
		{"insert", routertest.BulkWriteCommand(bson.A{d("insert", 1, "document", d("_id", 1))}), `[{"ok":1.0,"idx":0,"n":1}]`, one("nInserted")},
		{"update", routertest.BulkWriteCommand(bson.A{d("update", 0, "filter", d("k", 3), "updateMods", d("$set", d("x", 1)))}),
			`[{"ok":1.0,"idx":0,"n":1,"nModified":1}]`, `"nErrors":0,"nInserted":0,"nMatched":1,"nModified":1,"nUpserted":0,"nDeleted":0`},
		{"update of many on two shards", routertest.BulkWriteCommand(bson.A{d("update", 0, "filter", d(), "updateMods", bson.A{d("$set", d("x", 1))}, "multi", true)}),
			`[{"ok":1.0,"idx":0,"n":20,"nModified":20}]`, `"nErrors":0,"nInserted":0,"nMatched":20,"nModified":20,"nUpserted":0,"nDeleted":0`},
		{"upsert", routertest.BulkWriteCommand(bson.A{d("update", 1, "filter", d("_id", 7), "updateMods", d("x", 1), "upsert", true)}),
			`[{"ok":1.0,"idx":0,"n":1,"nModified":0,"upserted":{"_id":7}}]`, one("nUpserted")},
		{"delete", routertest.BulkWriteCommand(bson.A{d("delete", 0, "filter", d("k", 3))}), `[{"ok":1.0,"idx":0,"n":1}]`, one("nDeleted")},
		{"delete of many", routertest.BulkWriteCommand(bson.A{d("delete", 0, "filter", d("i", 3), "multi", true)}),
			`[{"ok":1.0,"idx":0,"n":4}]`, strings.Replace(none, `"nDeleted":0`, `"nDeleted":4`, 1)},
		{"NaN is namespace 0", routertest.BulkWriteCommand(bson.A{d("delete", math.NaN(), "filter", d("k", 3))}), `[{"ok":1.0,"idx":0,"n":1}]`, one("nDeleted")},
		{"errors only", routertest.BulkWriteCommand(bson.A{d("insert", 1, "document", d("_id", 1))}, "errorsOnly", true), `[]`, one("nInserted")},
		{"an ordered list ends at an error", routertest.BulkWriteCommand(bson.A{d("insert", 0, "document", d("_id", 3, "k", 3)), d("insert", 1, "document", d("_id", 1))}),
			`[{"ok":0.0,"idx":0,` + duplicate + `,"n":0}]`, one("nErrors")},
		{"an unordered one does not", routertest.BulkWriteCommand(bson.A{d("insert", 0, "document", d("_id", 3, "k", 3)), d("insert", 1, "document", d("_id", 1))}, "ordered", false),
			`[{"ok":0.0,"idx":0,` + duplicate + `,"n":0},{"ok":1.0,"idx":1,"n":1}]`, `"nErrors":1,"nInserted":1,"nMatched":0,"nModified":0,"nUpserted":0,"nDeleted":0`},
		{"let", routertest.BulkWriteCommand(bson.A{d("delete", 0, "filter", d("$expr", d("$eq", bson.A{"$k", "$$k"})))}, "let", d("k", 5)), `[{"ok":1.0,"idx":0,"n":1}]`, one("nDeleted")},
		{"constants", routertest.BulkWriteCommand(bson.A{d("update", 0, "filter", d("k", 3), "updateMods", bson.A{d("$set", d("x", "$$c"))}, "constants", d("c", 5))}),
			`[{"ok":1.0,"idx":0,"n":1,"nModified":1}]`, `"nErrors":0,"nInserted":0,"nMatched":1,"nModified":1,"nUpserted":0,"nDeleted":0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := routertest.NewExplainState(t)
			reply := x.OK("admin", tt.command)
			if got := routertest.RelaxedJSON(t, reply.Lookup("cursor", "firstBatch")); got != tt.items {
				t.Errorf("items %s\n want %s", got, tt.items)
			}
			if ns, id := reply.Lookup("cursor", "ns").StringValue(), reply.Lookup("cursor", "id").AsInt64(); ns != "admin.$cmd.bulkWrite" || id != 0 {
				t.Errorf("cursor %d of %s", id, ns)
			}
			if got := reply.String(); !strings.Contains(strings.NewReplacer(`{"$numberInt":"`, "", `"},`, ",", `"}`, "", " ", "").Replace(got), tt.sums) {
				t.Errorf("%s lacks %s", got, tt.sums)
			}
		})
	}
}

func TestBulkWriteRefusals(t *testing.T) {
	x := routertest.NewExplainState(t)
	insert := d("insert", 1, "document", d("_id", 1))
	for _, tt := range []struct {
		name    string
		db      string
		command bson.D
		code    int
	}{
		{"another database", "doc1", routertest.BulkWriteCommand(bson.A{insert}), 13},
		{"no operations", "admin", routertest.BulkWriteCommand(bson.A{}), 16},
		{"operations missing", "admin", d("bulkWrite", 1, "nsInfo", bson.A{}), 40414},
		{"namespaces missing", "admin", d("bulkWrite", 1, "ops", bson.A{insert}), 40414},
		{"unknown argument", "admin", routertest.BulkWriteCommand(bson.A{insert}, "nope", 1), 40415},
		{"unknown argument of an operation", "admin", routertest.BulkWriteCommand(bson.A{d("insert", 0, "document", d(), "upsert", true)}), 40415},
		{"unknown operation", "admin", routertest.BulkWriteCommand(bson.A{d("replace", 0)}), 40415},
		{"no such namespace", "admin", routertest.BulkWriteCommand(bson.A{d("insert", 2, "document", d())}), 2},
		{"bad namespace", "admin", d("bulkWrite", 1, "ops", bson.A{insert}, "nsInfo", bson.A{d("ns", "nothing")}), 73},
		{"another UUID", "admin", d("bulkWrite", 1, "ops", bson.A{insert}, "nsInfo", bson.A{d("ns", "doc1.e", "collectionUUID", bson.Binary{Subtype: 4, Data: make([]byte, 16)}), d("ns", "other.c")}), 361},
		{"no filter", "admin", routertest.BulkWriteCommand(bson.A{d("delete", 0)}), 40414},
		{"a filter that is none", "admin", routertest.BulkWriteCommand(bson.A{d("delete", 0, "filter", 1)}), 14},
		{"many in a retryable write", "admin", retryable(routertest.BulkWriteCommand(bson.A{d("delete", 0, "filter", d(), "multi", true)}), 1), 72},
	} {
		if code := x.Code(tt.db, tt.command); code != tt.code {
			t.Errorf("%s: code %d, want %d", tt.name, code, tt.code)
		}
	}
	if n := x.OK("other", d("count", "c")).Lookup("n").AsInt64(); n != 0 {
		t.Errorf("%d documents were written", n)
	}
}

func TestBulkWriteCursor(t *testing.T) {
	x := routertest.NewExplainState(t)
	ops := bson.A{}
	for i := range 5 {
		ops = append(ops, d("insert", 1, "document", d("_id", i)))
	}
	cursor := x.OK("admin", routertest.BulkWriteCommand(ops, "cursor", d("batchSize", 2))).Lookup("cursor").Document()
	if first, _ := cursor.Lookup("firstBatch").Array().Values(); len(first) != 2 {
		t.Errorf("the first batch has %d", len(first))
	}
	more := x.OK("admin", d("getMore", cursor.Lookup("id").AsInt64(), "collection", "$cmd.bulkWrite")).Lookup("cursor").Document()
	if next, _ := more.Lookup("nextBatch").Array().Values(); len(next) != 3 || more.Lookup("id").AsInt64() != 0 {
		t.Errorf("the rest is %s", more)
	}
}

func TestRetriedBulkWrite(t *testing.T) {
	x := routertest.NewExplainState(t)
	ops := routertest.BulkWriteCommand(bson.A{d("insert", 1, "document", d("_id", 1)), d("update", 0, "filter", d("k", 1), "updateMods", d("$inc", d("n", 1)))})
	first := x.OK("admin", retryable(ops, 1))
	again := x.OK("admin", retryable(ops, 1))
	for _, name := range []string{"cursor", "nInserted", "nModified"} {
		if a, b := first.Lookup(name), again.Lookup(name); !a.Equal(b) {
			t.Errorf("%s was %s and is %s", name, a, b)
		}
	}
	if got := routertest.RelaxedJSON(t, again.Lookup("retriedStmtIds")); got != "[0,1]" {
		t.Errorf("retried %s", got)
	}
	if got := x.IDs("doc1", d("find", "e", "filter", d("n", 2, "k", 1))); !routertest.Same(got, 1) {
		t.Error("the update was not done once")
	}
}

func TestBulkWriteThroughTheDriver(t *testing.T) {
	x := routertest.NewExplainState(t)
	client, ctx := x.Client(nil), context.Background()
	result, err := client.BulkWrite(ctx, []mongo.ClientBulkWrite{
		{Database: "doc1", Collection: "e", Model: mongo.NewClientInsertOneModel().SetDocument(d("_id", 100, "k", 100))},
		{Database: "doc1", Collection: "e", Model: mongo.NewClientUpdateManyModel().SetFilter(d("k", d("$gte", 18))).SetUpdate(d("$set", d("x", 1)))},
		{Database: "other", Collection: "c", Model: mongo.NewClientReplaceOneModel().SetFilter(d("_id", "new")).SetReplacement(d("a", 1)).SetUpsert(true)},
		{Database: "doc1", Collection: "e", Model: mongo.NewClientDeleteOneModel().SetFilter(d("k", 1))},
	}, options.ClientBulkWrite().SetVerboseResults(true))
	if err != nil {
		t.Fatal(err)
	}
	if result.InsertedCount != 1 || result.MatchedCount != 3 || result.ModifiedCount != 3 || result.UpsertedCount != 1 || result.DeletedCount != 1 {
		t.Errorf("counted %+v", result)
	}
	if up := result.UpdateResults[2]; up.UpsertedID != "new" {
		t.Errorf("upserted %+v", up)
	}
	_, err = client.BulkWrite(ctx, []mongo.ClientBulkWrite{
		{Database: "other", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(d("_id", 1))},
		{Database: "doc1", Collection: "e", Model: mongo.NewClientInsertOneModel().SetDocument(d("_id", 100, "k", 100))},
		{Database: "other", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(d("_id", 2))},
	})
	var failed mongo.ClientBulkWriteException
	if !errors.As(err, &failed) || failed.WriteErrors[1].Code != 11000 || failed.PartialResult.InsertedCount != 1 {
		t.Errorf("a duplicate: %v", err)
	}
}
