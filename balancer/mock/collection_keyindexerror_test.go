package mock_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A collection with documents can't be sharded, nor its key refined, without an index that serves
// the key; the error names what is wrong with those that there are, in the server's words.
func TestWhyNoIndexServesAShardKey(t *testing.T) {
	const please = "Please create an index that starts with the proposed shard key before sharding the collection. "
	const none = "couldn't find valid index for shard key\n" +
		"Index _id_ cannot be used for sharding because: Shard key is not a prefix of index key.\n" +
		"Index i cannot be used for sharding because: "
	index := func(key bson.D, options ...any) bson.D { return append(d("key", key, "name", "i"), d(options...)...) }
	for _, tt := range []struct {
		name  string
		index bson.D
		a     any // of the document
		more  bson.D
		code  int64
		text  string
	}{
		{"none", nil, 1, nil, 72, please},
		{"none, and none may be made", nil, 1, d("implicitlyCreateIndex", false), 6373200,
			"Must have an index compatible with the proposed shard key"},
		{"sparse", index(d("a", 1), "sparse", true), 1, nil, 72,
			please + " Index i cannot be used for sharding because [ Index key is sparse. ]"},
		{"partial", index(d("a", 1), "partialFilterExpression", d("a", 1)), 1, nil, 72, none + "Index key is partial."},
		{"multikey", index(d("a", 1)), bson.A{1}, nil, 72, none + "Index key is multikey."},
		{"hidden", index(d("a", 1), "hidden", true), 1, nil, 72, please},
		{"another", index(d("b", 1)), 1, nil, 72, please},
	} {
		m := orders(t)
		m.ok(t, "db", d("insert", "new", "documents", bson.A{d("_id", 1, "a", tt.a)}))
		if tt.index != nil {
			m.ok(t, "db", d("createIndexes", "new", "indexes", bson.A{tt.index}))
		}
		reply, _ := m.run("admin", append(d("shardCollection", "db.new", "key", d("a", 1)), tt.more...))
		if code := reply.Lookup("code").AsInt64(); code != tt.code || reply.Lookup("errmsg").StringValue() != tt.text {
			t.Errorf("%s: %d %q", tt.name, code, reply.Lookup("errmsg").StringValue())
		}
	}
	m := orders(t)
	reply, _ := m.run("admin", d("refineCollectionShardKey", "db.c", "key", d("a", 1, "z", 1)))
	if text := reply.Lookup("errmsg").StringValue(); text !=
		"Please create an index that starts with the proposed shard key before refining the collection's shard key. " {
		t.Errorf("refine: %q", text)
	}
}

// An index that held an array is multikey until it is built again: servers note it in the catalog, and
// count nothing (the servers' manual, and shardCollection's and explain's answers).
func TestAnIndexStaysMultikey(t *testing.T) {
	m := orders(t)
	shard := d("shardCollection", "db.new", "key", d("a.b", 1))
	index := bson.A{d("key", d("a.b", 1, "c", 1), "name", "i")}
	m.ok(t, "db", d("createIndexes", "new", "indexes", index))
	m.ok(t, "db", d("insert", "new", "documents", bson.A{d("_id", 1, "a", bson.A{d("b", 1)}), d("_id", 2, "a", d("b", 2))}))
	m.ok(t, "db", d("delete", "new", "deletes", bson.A{d("q", d("_id", 1), "limit", 1)}))
	m.refused(t, "admin", shard, 72)
	plan := m.ok(t, "db", d("explain", d("find", "new", "filter", d("a.b", 2), "hint", "i"), "verbosity", "queryPlanner"))
	scan := plan.Lookup("queryPlanner", "winningPlan", "shards", "0", "winningPlan", "inputStage").Document()
	if !scan.Lookup("isMultiKey").Boolean() {
		t.Errorf("explain: %s", scan)
	}
	if got := scan.Lookup("multiKeyPaths").String(); got != `{"a.b": ["a"],"c": []}` {
		t.Errorf("paths with arrays: %s", got)
	}
	m.ok(t, "db", d("dropIndexes", "new", "index", "i"))
	m.ok(t, "db", d("createIndexes", "new", "indexes", index))
	m.ok(t, "admin", shard)
}
