package router_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ids gives the _ids that a find or aggregate answers with.
func (x *tester) ids(db string, command bson.D) []any {
	x.t.Helper()
	values, err := x.ok(db, command).Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		x.t.Fatal(err)
	}
	list := []any{}
	for _, v := range values {
		var id any
		if err := v.Document().Lookup("_id").Unmarshal(&id); err != nil {
			x.t.Fatal(err)
		}
		list = append(list, id)
	}
	return list
}

func same(got []any, want ...any) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if n, isInt := want[i].(int); isInt {
			want[i] = int32(n)
		}
		if got[i] != want[i] {
			return false
		}
	}
	return true
}

func TestFindOptions(t *testing.T) {
	x := newExplained(t)
	if got := x.ids("doc1", d("find", "e", "hint", d("_id", 1), "min", d("_id", 3), "max", d("_id", 6))); !same(got, 3, 4, 5) {
		t.Errorf("min and max find %v", got)
	}
	reply := x.ok("doc1", d("find", "e", "filter", d("k", 4), "returnKey", true))
	if got := reply.Lookup("cursor", "firstBatch", "0").String(); got != `{"k": {"$numberInt":"4"}}` {
		t.Errorf("returnKey gives %s", got)
	}
	both := x.ok("doc1", d("find", "e", "filter", d("k", 4), "returnKey", true, "showRecordId", true))
	if got := both.Lookup("cursor", "firstBatch", "0").String(); got != `{"k": {"$numberInt":"4"}}` {
		t.Errorf("returnKey with showRecordId gives %s (drivers' command-monitoring/find.json)", got)
	}
	reply = x.ok("doc1", d("find", "e", "filter", d("k", 4), "showRecordId", true, "projection", d("_id", 1)))
	if got := reply.Lookup("cursor", "firstBatch", "0").String(); got != `{"_id": {"$numberInt":"4"},"$recordId": {"$numberLong":"5"}}` {
		t.Errorf("showRecordId gives %s", got)
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("find", "e", "min", d("_id", 3)), 51173},
		{d("find", "e", "min", d("x", 3), "hint", d("_id", 1)), 51174},
		{d("find", "e", "min", d("_id", 3), "max", d("_id", 3), "hint", d("_id", 1)), 51175},
		{d("find", "e", "hint", 1), 9},
		{d("find", "e", "hint", d("nope", 1)), 2},
		{d("find", "e", "collation", d("locale", "en")), 238},
		{d("find", "e", "collation", "en"), 14},
	} {
		if code := x.code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

func TestWritesTakeHintAndSort(t *testing.T) {
	x := newExplained(t)
	x.ok("doc1", d("update", "e", "updates", bson.A{d("q", d("i", 1), "u", d("$set", d("last", true)), "sort", d("n", -1))}))
	if got := x.ids("doc1", d("find", "e", "filter", d("last", true))); !same(got, 16) {
		t.Errorf("the last is %v", got)
	}
	for _, wrong := range []bson.D{
		d("update", "e", "updates", bson.A{d("q", d(), "u", d("$set", d("x", 1)), "hint", "nope")}),
		d("update", "e", "updates", bson.A{d("q", d(), "u", d("$set", d("x", 1)), "sort", d("n", 1), "multi", true)}),
		d("delete", "e", "deletes", bson.A{d("q", d(), "limit", 0, "hint", "nope")}),
	} {
		if reply := x.run("doc1", wrong); reply.Lookup("writeErrors", "0", "code").IsZero() {
			t.Errorf("%v answered %s", wrong, reply)
		}
	}
	if code := x.code("doc1", d("delete", "e", "deletes", bson.A{d("q", d(), "limit", 5)})); code != 9 {
		t.Errorf("a limit of 5: code %d", code)
	}
	if n := x.ok("doc1", d("count", "e", "query", d("x", d("$exists", true)))).Lookup("n").AsInt64(); n != 0 {
		t.Errorf("%d documents were changed", n)
	}
}

func TestOut(t *testing.T) {
	x := newExplained(t)
	out := func(to any, stages ...any) bson.D {
		return d("aggregate", "e", "pipeline", append(bson.A(stages), d("$out", to)), "cursor", d())
	}
	x.ok("doc1", d("insert", "target", "documents", bson.A{d("_id", "old")}))
	x.ok("doc1", d("createIndexes", "target", "indexes", bson.A{d("key", d("n", 1), "name", "n_1", "unique", true)}))
	if got := x.ids("doc1", out("target", d("$match", d("i", 2)))); len(got) != 0 {
		t.Errorf("$out answers with %v", got)
	}
	if got := x.ids("doc1", d("find", "target")); !same(got, 2, 7, 12, 17) {
		t.Errorf("the target holds %v", got)
	}
	if n, _ := x.ok("doc1", d("listIndexes", "target")).Lookup("cursor", "firstBatch").Array().Values(); len(n) != 2 {
		t.Errorf("%d indexes are left", len(n))
	}
	if code := x.code("doc1", out("target", d("$set", d("n", 1)))); code != 11000 {
		t.Errorf("a duplicate: code %d", code)
	}
	if got := x.ids("doc1", d("find", "target")); len(got) != 4 {
		t.Errorf("after a failure the target holds %v", got)
	}
	x.ok("doc1", out(d("db", "other", "coll", "c"), d("$limit", 1)))
	if got := x.ids("other", d("find", "c")); len(got) != 1 {
		t.Errorf("the other database holds %v", got)
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{out("e"), 28769}, {out(5), 16990}, {out(d("db", "config", "coll", "x")), 31321}, {out("system.x"), 17385},
		{d("aggregate", "e", "pipeline", bson.A{d("$out", "x"), d("$limit", 1)}, "cursor", d()), 40601},
		{d("aggregate", "e", "pipeline", bson.A{d("$unionWith", d("coll", "e", "pipeline", bson.A{d("$out", "x")}))}, "cursor", d()), 51047},
	} {
		if code := x.code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

func TestMerge(t *testing.T) {
	merge := func(options ...any) bson.D {
		return d("aggregate", "src", "pipeline", bson.A{d("$merge", d(append([]any{"into", "dst"}, options...)...))}, "cursor", d())
	}
	tests := []struct {
		name    string
		command bson.D
		want    string // of the documents 1, which is in both, and 2, which is new
		code    int
	}{
		{"default", merge(), `{"_id":1,"a":9,"b":1,"c":9} {"_id":2,"c":9}`, 0},
		{"replace", merge("whenMatched", "replace"), `{"_id":1,"b":1,"c":9} {"_id":2,"c":9}`, 0},
		{"keep", merge("whenMatched", "keepExisting"), `{"_id":1,"a":9,"c":1} {"_id":2,"c":9}`, 0},
		{"discard", merge("whenNotMatched", "discard"), `{"_id":1,"a":9,"b":1,"c":9}`, 0},
		{"pipeline", merge("whenMatched", bson.A{d("$set", d("sum", d("$add", bson.A{"$c", "$$new.c"})))}), `{"_id":1,"a":9,"c":1,"sum":10} {"_id":2,"c":9}`, 0},
		{"let", merge("let", d("x", "$b"), "whenMatched", bson.A{d("$set", d("x", "$$x"))}), `{"_id":1,"a":9,"c":1,"x":1} {"_id":2,"c":9}`, 0},
		{"fail", merge("whenMatched", "fail"), `{"_id":1,"a":9,"c":1}`, 11000},
		{"not matched", merge("whenNotMatched", "fail"), `{"_id":1,"a":9,"b":1,"c":9}`, 13113},
		{"no unique index", merge("on", "c"), `{"_id":1,"a":9,"c":1}`, 51183},
		{"no such mode", merge("whenMatched", "nope"), `{"_id":1,"a":9,"c":1}`, 2},
		{"bad pair", merge("whenMatched", "fail", "whenNotMatched", "discard"), `{"_id":1,"a":9,"c":1}`, 51181},
		{"let without pipeline", merge("let", d("x", 1)), `{"_id":1,"a":9,"c":1}`, 51199},
		{"unknown", merge("nope", 1), `{"_id":1,"a":9,"c":1}`, 40415},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newRecordedState(t)
			x.ok("doc1", d("insert", "dst", "documents", bson.A{d("_id", 1, "a", 9, "c", 1)}))
			x.ok("doc1", d("insert", "src", "documents", bson.A{d("_id", 1, "b", 1, "c", 9), d("_id", 2, "c", 9)}))
			reply := x.run("doc1", tt.command)
			if code, _ := reply.Lookup("code").AsInt64OK(); int(code) != tt.code {
				t.Errorf("code %d, want %d: %s", code, tt.code, reply)
			}
			values, _ := x.ok("doc1", d("find", "dst", "sort", d("_id", 1))).Lookup("cursor", "firstBatch").Array().Values()
			got := ""
			for i, v := range values {
				if i > 0 {
					got += " "
				}
				// In one order of fields, relaxed.
				var m map[string]any
				if err := v.Unmarshal(&m); err != nil {
					t.Fatal(err)
				}
				text, err := bson.MarshalExtJSON(sortedFields(m), false, false)
				if err != nil {
					t.Fatal(err)
				}
				got += string(text)
			}
			if got != tt.want {
				t.Errorf("holds %s, want %s", got, tt.want)
			}
		})
	}
}

func sortedFields(m map[string]any) bson.D {
	doc := bson.D{}
	for _, name := range []string{"_id", "a", "b", "c", "sum", "x"} {
		if v, ok := m[name]; ok {
			doc = append(doc, bson.E{Key: name, Value: v})
		}
	}
	return doc
}

func TestMergeIntoShardedCollection(t *testing.T) {
	x := newExplained(t)
	x.ok("doc1", d("insert", "src", "documents", bson.A{d("_id", 15, "k", 15, "new", true), d("_id", 99, "k", 99)}))
	x.ok("doc1", d("aggregate", "src", "pipeline", bson.A{d("$merge", "e")}, "cursor", d()))
	if got := x.ids("doc1", d("find", "e", "filter", d("k", d("$in", bson.A{15, 99})), "sort", d("_id", 1))); !same(got, 15, 99) {
		t.Errorf("found %v", got)
	}
	if got := x.ids("doc1", d("find", "e", "filter", d("k", 15, "new", true, "n", 15))); !same(got, 15) {
		t.Errorf("not merged: %v", got)
	}
}

func TestViews(t *testing.T) {
	x := newExplained(t)
	x.ok("doc1", d("create", "odd", "viewOn", "e", "pipeline", bson.A{d("$match", d("$expr", d("$eq", bson.A{d("$mod", bson.A{"$k", 2}), 1})))}))
	x.ok("doc1", d("create", "odd2", "viewOn", "odd", "pipeline", bson.A{d("$set", d("twice", d("$multiply", bson.A{"$k", 2})))}))
	if got := x.ids("doc1", d("find", "odd", "filter", d("k", d("$lt", 6)), "sort", d("k", -1), "limit", 2)); !same(got, 5, 3) {
		t.Errorf("find gives %v", got)
	}
	if got := x.ids("doc1", d("aggregate", "odd2", "pipeline", bson.A{d("$match", d("twice", d("$gt", 34)))}, "cursor", d())); !same(got, 19) {
		t.Errorf("a view on a view gives %v", got)
	}
	if n := x.ok("doc1", d("count", "odd")).Lookup("n").AsInt64(); n != 10 {
		t.Errorf("count gives %d", n)
	}
	if n, _ := x.ok("doc1", d("distinct", "odd", "key", "i")).Lookup("values").Array().Values(); len(n) != 5 {
		t.Errorf("distinct gives %v", n)
	}
	if got := x.ok("doc1", d("listCollections", 1, "filter", d("name", "odd"))).Lookup("cursor", "firstBatch", "0", "type").StringValue(); got != "view" {
		t.Errorf("listed as a %s", got)
	}
	joined := d("aggregate", "u", "pipeline", bson.A{d("$lookup", d("from", "odd", "localField", "_id", "foreignField", "_id", "as", "j")), d("$project", d("_id", d("$size", "$j")))}, "cursor", d())
	if got := x.ids("doc1", joined); !same(got, 1) {
		t.Errorf("joined with %v", got)
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("create", "odd", "viewOn", "e"), 48},
		{d("create", "self", "viewOn", "self"), 5},
		{d("create", "bad", "viewOn", "e", "pipeline", bson.A{d("$nope", 1)}), 40324},
		{d("createIndexes", "odd", "indexes", bson.A{d("key", d("a", 1), "name", "a")}), 166},
	} {
		if code := x.code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	if got := x.run("doc1", d("insert", "odd", "documents", bson.A{d("k", 1)})).Lookup("writeErrors", "0", "code"); got.AsInt64() != 166 {
		t.Errorf("an insert: %s", got)
	}
	x.ok("doc1", d("drop", "odd"))
	x.ok("doc1", d("create", "odd"))
}

func TestCappedCollections(t *testing.T) {
	x := newRecordedState(t)
	x.ok("doc1", d("create", "log", "capped", true, "size", 4096, "max", 3))
	for i := range 5 {
		x.ok("doc1", d("insert", "log", "documents", bson.A{d("_id", i)}))
	}
	if got := x.ids("doc1", d("find", "log")); !same(got, 2, 3, 4) {
		t.Errorf("holds %v", got)
	}
	x.ok("doc1", d("create", "small", "capped", true, "size", 100)) // 256, as the server rounds: four documents of 64
	for i := range 20 {
		x.ok("doc1", d("insert", "small", "documents", bson.A{d("_id", i, "pad", "0123456789012345678901234567890123456789")}))
	}
	if got := x.ids("doc1", d("find", "small")); !same(got, 16, 17, 18, 19) {
		t.Errorf("holds %v", got)
	}
	for _, wrong := range []bson.D{d("create", "x", "capped", true), d("create", "x", "size", 10), d("shardCollection", "doc1.log", "key", d("_id", 1))} {
		db := "doc1"
		if wrong[0].Key == "shardCollection" {
			db = "admin"
		}
		if code := x.code(db, wrong); code != 72 {
			t.Errorf("%v: code %d", wrong, code)
		}
	}
}

func TestValidators(t *testing.T) {
	x := newRecordedState(t)
	x.ok("doc1", d("create", "v", "validator", d("$jsonSchema", d("required", bson.A{"n"}, "properties", d("n", d("bsonType", "int"))))))
	insert := func(doc bson.D) bson.D { return d("insert", "v", "documents", bson.A{doc}) }
	x.ok("doc1", insert(d("_id", 1, "n", 1)))
	reply := x.run("doc1", insert(d("_id", 2, "n", "x")))
	if code := reply.Lookup("writeErrors", "0", "code"); code.AsInt64() != 121 {
		t.Errorf("a bad document: %s", reply)
	}
	if id := reply.Lookup("writeErrors", "0", "errInfo", "failingDocumentId"); id.AsInt64() != 2 {
		t.Errorf("the failing document is %s", id)
	}
	if rule := reply.Lookup("writeErrors", "0", "errInfo", "details", "schemaRulesNotSatisfied", "0", "operatorName"); rule.StringValue() != "properties" {
		t.Errorf("no details: %s", reply)
	}
	if reply := x.run("doc1", d("update", "v", "updates", bson.A{d("q", d("_id", 1), "u", d("$unset", d("n", 1)))})); reply.Lookup("writeErrors", "0", "code").AsInt64() != 121 {
		t.Errorf("a bad update: %s", reply)
	}
	x.ok("doc1", append(insert(d("_id", 3)), bson.E{Key: "bypassDocumentValidation", Value: true}))
	if got := x.ids("doc1", d("find", "v")); !same(got, 1, 3) {
		t.Errorf("holds %v", got)
	}
}

// partialIndex is an index of what matches.
func partialIndex(matches bson.D) bson.D {
	return d("key", d("m", 1), "name", "m", "partialFilterExpression", matches)
}

func TestIndexOptions(t *testing.T) {
	x := newRecordedState(t)
	create := func(index bson.D) bson.D { return d("createIndexes", "p", "indexes", bson.A{index}) }
	partial := d("n", d("$gt", 5))
	x.ok("doc1", create(d("key", d("n", 1), "name", "n_1", "unique", true, "partialFilterExpression", partial)))
	x.ok("doc1", d("insert", "p", "documents", bson.A{d("_id", 1, "n", 1), d("_id", 2, "n", 1), d("_id", 3, "n", 9)}))
	if reply := x.run("doc1", d("insert", "p", "documents", bson.A{d("_id", 4, "n", 9)})); reply.Lookup("writeErrors", "0", "code").AsInt64() != 11000 {
		t.Errorf("a duplicate inside: %s", reply)
	}
	plan := func(query bson.D) string {
		return chain(x.ok("doc1", d("explain", d("find", "p", "filter", query), "verbosity", "queryPlanner")).Lookup("queryPlanner", "winningPlan", "shards", "0", "winningPlan").Document())
	}
	if got := plan(d("n", d("$gte", 7))); got != "FETCH IXSCAN" {
		t.Errorf("what the index has is read by %s", got)
	}
	if got := plan(d("n", 1)); got != "COLLSCAN" {
		t.Errorf("what it may not have is read by %s", got)
	}
	if got := x.ok("doc1", d("listIndexes", "p")).Lookup("cursor", "firstBatch", "1", "partialFilterExpression"); got.IsZero() {
		t.Error("not listed")
	}
	for _, tt := range []struct {
		index bson.D
		code  int
	}{
		{d("key", d("a", 1), "name", "a", "sparse", true, "partialFilterExpression", partial), 67},
		{d("key", d("a", 1), "name", "a", "nope", 1), 197},
		{d("key", d("a", 1), "name", "a", "expireAfterSeconds", "x"), 14},
		{d("key", d("a", 1), "name", "a", "expireAfterSeconds", -1), 67},
		{d("key", d("a", 1, "b", 1), "name", "a", "expireAfterSeconds", 1), 67},
		{d("key", d("_id", 1), "name", "a", "expireAfterSeconds", 1), 197},
		{d("key", d("a", "hashed"), "name", "a", "unique", true), 16764},
		{d("key", d("a", "nope"), "name", "a"), 67},
		{partialIndex(d("n", d("$ne", 5))), 67},
		{partialIndex(d("n", d("$exists", false))), 67},
		{partialIndex(d("n", d("$not", d("$gt", 5)))), 67},
		{partialIndex(d("n", bson.Regex{Pattern: "x"})), 67},
		{partialIndex(d("n", 5, "$or", bson.A{d("a", 1), d("a", d("$size", 5))})), 67},
		{partialIndex(d("n", d("$nope", 5))), 2},
	} {
		if code := x.code("doc1", create(tt.index)); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.index, code, tt.code)
		}
	}
	for _, allowed := range []bson.D{
		{}, d("n", 5), d("n", d("$exists", true)), d("n", d("$gt", 5, "$lte", 9)), d("n", d("$type", "string")),
		d("n", d("$in", bson.A{1, 2})), d("$and", bson.A{d("n", 5), d("$or", bson.A{d("a", 1), d("b", 2)})}),
	} {
		x.ok("doc1", create(partialIndex(allowed)))
		x.ok("doc1", d("dropIndexes", "p", "index", "m"))
	}
}

// A stage that is none fails an update as a whole, one that updates can't have
// its statement (the drivers' command-logging tests rely on the first).
func TestUnknownStageFailsTheUpdate(t *testing.T) {
	x := faulty(t)
	update := func(stage bson.D) bson.D {
		return d("update", "c", "updates", bson.A{d("q", d("a", 1), "u", bson.A{stage})})
	}
	if code := x.code("db", update(d("$nope", true))); code != 40324 {
		t.Errorf("code %d, want 40324", code)
	}
	if reply := x.run("db", update(d("$match", d()))); reply.Lookup("writeErrors", "0", "code").IsZero() {
		t.Errorf("no error of the statement: %s", reply)
	}
}
