package reads_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

func TestFindOptions(t *testing.T) {
	x := routertest.NewExplainState(t)
	if got := x.IDs("doc1", d("find", "e", "hint", d("_id", 1), "min", d("_id", 3), "max", d("_id", 6))); !routertest.Same(got, 3, 4, 5) {
		t.Errorf("min and max find %v", got)
	}
	reply := x.OK("doc1", d("find", "e", "filter", d("k", 4), "returnKey", true))
	if got := reply.Lookup("cursor", "firstBatch", "0").String(); got != `{"k": {"$numberInt":"4"}}` {
		t.Errorf("returnKey gives %s", got)
	}
	both := x.OK("doc1", d("find", "e", "filter", d("k", 4), "returnKey", true, "showRecordId", true))
	if got := both.Lookup("cursor", "firstBatch", "0").String(); got != `{"k": {"$numberInt":"4"}}` {
		t.Errorf("returnKey with showRecordId gives %s (drivers' command-monitoring/find.json)", got)
	}
	reply = x.OK("doc1", d("find", "e", "filter", d("k", 4), "showRecordId", true, "projection", d("_id", 1)))
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
		{d("find", "e", "filter", d("s", "x"), "collation", d("locale", "en")), 238},
		{d("find", "e", "collation", "en"), 14},
	} {
		if code := x.Code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

func TestOut(t *testing.T) {
	x := routertest.NewExplainState(t)
	out := func(to any, stages ...any) bson.D {
		return d("aggregate", "e", "pipeline", append(bson.A(stages), d("$out", to)), "cursor", d())
	}
	x.OK("doc1", d("insert", "target", "documents", bson.A{d("_id", "old")}))
	x.OK("doc1", d("createIndexes", "target", "indexes", bson.A{d("key", d("n", 1), "name", "n_1", "unique", true)}))
	if got := x.IDs("doc1", out("target", d("$match", d("i", 2)))); len(got) != 0 {
		t.Errorf("$out answers with %v", got)
	}
	if got := x.IDs("doc1", d("find", "target")); !routertest.Same(got, 2, 7, 12, 17) {
		t.Errorf("the target holds %v", got)
	}
	if n, _ := x.OK("doc1", d("listIndexes", "target")).Lookup("cursor", "firstBatch").Array().Values(); len(n) != 2 {
		t.Errorf("%d indexes are left", len(n))
	}
	if code := x.Code("doc1", out("target", d("$set", d("n", 1)))); code != 11000 {
		t.Errorf("a duplicate: code %d", code)
	}
	if got := x.IDs("doc1", d("find", "target")); len(got) != 4 {
		t.Errorf("after a failure the target holds %v", got)
	}
	x.OK("doc1", out(d("db", "other", "coll", "c"), d("$limit", 1)))
	if got := x.IDs("other", d("find", "c")); len(got) != 1 {
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
		if code := x.Code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

func TestMerge(t *testing.T) {
	mergeInto := func(into any, options ...any) bson.D {
		return d("aggregate", "src", "pipeline", bson.A{d("$merge", d(append([]any{"into", into}, options...)...))}, "cursor", d())
	}
	merge := func(options ...any) bson.D { return mergeInto("dst", options...) }
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
		{"into a database without a name", mergeInto(d("db", 5, "coll", "dst")), `{"_id":1,"a":9,"c":1}`, 14},
		{"unknown in into", mergeInto(d("coll", "dst", "nope", 1)), `{"_id":1,"a":9,"c":1}`, 40415},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := routertest.NewRecordedState(t)
			x.OK("doc1", d("insert", "dst", "documents", bson.A{d("_id", 1, "a", 9, "c", 1)}))
			x.OK("doc1", d("insert", "src", "documents", bson.A{d("_id", 1, "b", 1, "c", 9), d("_id", 2, "c", 9)}))
			reply := x.Run("doc1", tt.command)
			if code, _ := reply.Lookup("code").AsInt64OK(); int(code) != tt.code {
				t.Errorf("code %d, want %d: %s", code, tt.code, reply)
			}
			values, _ := x.OK("doc1", d("find", "dst", "sort", d("_id", 1))).Lookup("cursor", "firstBatch").Array().Values()
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
	x := routertest.NewExplainState(t)
	x.OK("doc1", d("insert", "src", "documents", bson.A{d("_id", 15, "k", 15, "new", true), d("_id", 99, "k", 99)}))
	x.OK("doc1", d("aggregate", "src", "pipeline", bson.A{d("$merge", "e")}, "cursor", d()))
	if got := x.IDs("doc1", d("find", "e", "filter", d("k", d("$in", bson.A{15, 99})), "sort", d("_id", 1))); !routertest.Same(got, 15, 99) {
		t.Errorf("found %v", got)
	}
	if got := x.IDs("doc1", d("find", "e", "filter", d("k", 15, "new", true, "n", 15))); !routertest.Same(got, 15) {
		t.Errorf("not merged: %v", got)
	}
}

func TestViews(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("doc1", d("create", "odd", "viewOn", "e", "pipeline", bson.A{d("$match", d("$expr", d("$eq", bson.A{d("$mod", bson.A{"$k", 2}), 1})))}))
	x.OK("doc1", d("create", "odd2", "viewOn", "odd", "pipeline", bson.A{d("$set", d("twice", d("$multiply", bson.A{"$k", 2})))}))
	if got := x.IDs("doc1", d("find", "odd", "filter", d("k", d("$lt", 6)), "sort", d("k", -1), "limit", 2)); !routertest.Same(got, 5, 3) {
		t.Errorf("find gives %v", got)
	}
	if got := x.IDs("doc1", d("aggregate", "odd2", "pipeline", bson.A{d("$match", d("twice", d("$gt", 34)))}, "cursor", d())); !routertest.Same(got, 19) {
		t.Errorf("a view on a view gives %v", got)
	}
	if n := x.OK("doc1", d("count", "odd")).Lookup("n").AsInt64(); n != 10 {
		t.Errorf("count gives %d", n)
	}
	if n, _ := x.OK("doc1", d("distinct", "odd", "key", "i")).Lookup("values").Array().Values(); len(n) != 5 {
		t.Errorf("distinct gives %v", n)
	}
	if got := x.OK("doc1", d("listCollections", 1, "filter", d("name", "odd"))).Lookup("cursor", "firstBatch", "0", "type").StringValue(); got != "view" {
		t.Errorf("listed as a %s", got)
	}
	joined := d("aggregate", "u", "pipeline", bson.A{d("$lookup", d("from", "odd", "localField", "_id", "foreignField", "_id", "as", "j")), d("$project", d("_id", d("$size", "$j")))}, "cursor", d())
	if got := x.IDs("doc1", joined); !routertest.Same(got, 1) {
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
		if code := x.Code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	if got := x.Run("doc1", d("insert", "odd", "documents", bson.A{d("k", 1)})).Lookup("writeErrors", "0", "code"); got.AsInt64() != 166 {
		t.Errorf("an insert: %s", got)
	}
	x.OK("doc1", d("drop", "odd"))
	x.OK("doc1", d("create", "odd"))
}
