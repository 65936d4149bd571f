package writes_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

func TestWritesTakeHintAndSort(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("doc1", d("update", "e", "updates", bson.A{d("q", d("i", 1), "u", d("$set", d("last", true)), "sort", d("n", -1))}))
	if got := x.IDs("doc1", d("find", "e", "filter", d("last", true))); !routertest.Same(got, 16) {
		t.Errorf("the last is %v", got)
	}
	for _, wrong := range []bson.D{
		d("update", "e", "updates", bson.A{d("q", d(), "u", d("$set", d("x", 1)), "hint", "nope")}),
		d("update", "e", "updates", bson.A{d("q", d(), "u", d("$set", d("x", 1)), "sort", d("n", 1), "multi", true)}),
		d("delete", "e", "deletes", bson.A{d("q", d(), "limit", 0, "hint", "nope")}),
	} {
		if reply := x.Run("doc1", wrong); reply.Lookup("writeErrors", "0", "code").IsZero() {
			t.Errorf("%v answered %s", wrong, reply)
		}
	}
	if code := x.Code("doc1", d("delete", "e", "deletes", bson.A{d("q", d(), "limit", 5)})); code != 9 {
		t.Errorf("a limit of 5: code %d", code)
	}
	if n := x.OK("doc1", d("count", "e", "query", d("x", d("$exists", true)))).Lookup("n").AsInt64(); n != 0 {
		t.Errorf("%d documents were changed", n)
	}
}

func TestValidators(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("doc1", d("create", "v", "validator", d("$jsonSchema", d("required", bson.A{"n"}, "properties", d("n", d("bsonType", "int"))))))
	insert := func(doc bson.D) bson.D { return d("insert", "v", "documents", bson.A{doc}) }
	x.OK("doc1", insert(d("_id", 1, "n", 1)))
	reply := x.Run("doc1", insert(d("_id", 2, "n", "x")))
	if code := reply.Lookup("writeErrors", "0", "code"); code.AsInt64() != 121 {
		t.Errorf("a bad document: %s", reply)
	}
	if id := reply.Lookup("writeErrors", "0", "errInfo", "failingDocumentId"); id.AsInt64() != 2 {
		t.Errorf("the failing document is %s", id)
	}
	if rule := reply.Lookup("writeErrors", "0", "errInfo", "details", "schemaRulesNotSatisfied", "0", "operatorName"); rule.StringValue() != "properties" {
		t.Errorf("no details: %s", reply)
	}
	if reply := x.Run("doc1", d("update", "v", "updates", bson.A{d("q", d("_id", 1), "u", d("$unset", d("n", 1)))})); reply.Lookup("writeErrors", "0", "code").AsInt64() != 121 {
		t.Errorf("a bad update: %s", reply)
	}
	x.OK("doc1", append(insert(d("_id", 3)), bson.E{Key: "bypassDocumentValidation", Value: true}))
	if got := x.IDs("doc1", d("find", "v")); !routertest.Same(got, 1, 3) {
		t.Errorf("holds %v", got)
	}
}

// A stage that is none fails an update as a whole, one that updates can't have
// its statement (the drivers' command-logging tests rely on the first).
func TestUnknownStageFailsTheUpdate(t *testing.T) {
	x := routertest.NewThreeShards(t)
	update := func(stage bson.D) bson.D {
		return d("update", "c", "updates", bson.A{d("q", d("a", 1), "u", bson.A{stage})})
	}
	if code := x.Code("db", update(d("$nope", true))); code != 40324 {
		t.Errorf("code %d, want 40324", code)
	}
	if reply := x.Run("db", update(d("$match", d()))); reply.Lookup("writeErrors", "0", "code").IsZero() {
		t.Errorf("no error of the statement: %s", reply)
	}
}
