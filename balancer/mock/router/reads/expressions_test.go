package reads_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// A query whose expression fails on a document answers with that error and
// changes nothing; it never leaves the document out silently.
func TestFailingExpressions(t *testing.T) {
	failing := d("$expr", d("$gt", bson.A{d("$divide", bson.A{1, "$zero"}), 0}))
	tests := []struct {
		name    string
		command bson.D
	}{
		{"find", d("find", "c", "filter", failing)},
		{"count", d("count", "c", "query", failing)},
		{"aggregate", d("aggregate", "c", "pipeline", bson.A{d("$match", failing)}, "cursor", d())},
		{"update", d("update", "c", "updates", bson.A{d("q", failing, "u", d("$set", d("x", 1)), "multi", true)})},
		{"delete", d("delete", "c", "deletes", bson.A{d("q", failing, "limit", 0)})},
		{"findAndModify", d("findAndModify", "c", "query", failing, "sort", d("zero", 1), "remove", true)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := routertest.NewS0(t)
			x.OK("db", d("insert", "c", "documents", bson.A{d("_id", 1, "zero", 1), d("_id", 2, "zero", 0)}))
			reply := x.Run("db", tt.command)
			code := reply.Lookup("code")
			if code.IsZero() {
				code = reply.Lookup("writeErrors", "0", "code")
			}
			if n, _ := code.AsInt64OK(); n == 0 {
				t.Errorf("answered %s", reply)
			}
			if n := x.OK("db", d("count", "c", "query", d("x", d("$exists", false)))).Lookup("n").Int32(); n != 2 {
				t.Errorf("%d documents are as they were, want 2", n)
			}
		})
	}
}

// The variables of let reach queries, updates and projections.
func TestLet(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("db", d("insert", "c", "documents", bson.A{d("_id", 1, "n", 1), d("_id", 2, "n", 2)}))
	byLet := d("$expr", d("$eq", bson.A{"$n", "$$wanted"}))
	reply := x.OK("db", d("find", "c", "filter", byLet, "let", d("wanted", 2)))
	if got := reply.Lookup("cursor", "firstBatch", "0", "_id").Int32(); got != 2 {
		t.Errorf("found %s", reply)
	}
	x.OK("db", d("update", "c", "updates", bson.A{d("q", byLet, "u", bson.A{d("$set", d("m", "$$wanted"))})}, "let", d("wanted", 1)))
	if n := x.OK("db", d("count", "c", "query", d("_id", 1, "m", 1))).Lookup("n").Int32(); n != 1 {
		t.Error("the update did not see its variable")
	}
}

// find refuses fields it does not know, and hints that name no index.
func TestFindRefusals(t *testing.T) {
	x := routertest.NewS0(t)
	tests := []struct {
		command bson.D
		code    int
	}{
		{d("find", "users", "nope", 1), 40415},
		{d("find", "users", "hint", "nope_1"), 2},
		{d("find", "users", "hint", d("nope", 1)), 2},
	}
	for _, tt := range tests {
		if code := x.Code("shop", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	for _, hint := range []any{"_id_", d("_id", 1), d("$natural", 1)} {
		x.OK("shop", d("find", "users", "hint", hint))
	}
	x.OK("shop", d("find", "nowhere", "hint", "nope_1"))
}
