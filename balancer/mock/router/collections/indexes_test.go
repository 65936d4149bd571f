package collections_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

func TestRepliesOfIndexCommands(t *testing.T) {
	x := routertest.NewExplainState(t)
	create := d("createIndexes", "e", "indexes", bson.A{d("key", d("n", 1), "name", "n_1")})
	const shard = "rs0/127.0.0.1:27120"
	for _, tt := range []struct {
		command bson.D
		want    string
	}{
		{create, `{"numIndexesBefore":4,"numIndexesAfter":5,"createdCollectionAutomatically":false,"commitQuorum":"votingMembers","ok":1.0}`},
		{create, `{"numIndexesBefore":5,"numIndexesAfter":5,"note":"all indexes already exist","ok":1.0}`},
		{d("dropIndexes", "e", "index", "n_1"), `{"nIndexesWas":5,"ok":1.0}`},
		{d("dropIndexes", "e", "index", "*"), `{"nIndexesWas":4,"msg":"non-_id and non-shard key indexes dropped for collection","ok":1.0}`},
	} {
		if got := routertest.RelaxedJSON(t, x.OK("doc1", tt.command).Lookup("raw", shard)); got != tt.want {
			t.Errorf("%v answered %s, want %s", tt.command, got, tt.want)
		}
	}
}

// Two indexes may not be one to the server, nor have one name.
func TestIndexConflicts(t *testing.T) {
	x := routertest.NewExplainState(t)
	create := func(index bson.D) bson.D { return d("createIndexes", "u", "indexes", bson.A{index}) }
	x.OK("doc1", create(d("key", d("a", 1), "name", "a_1")))
	const there = `existing index: { v: 2, key: { a: 1 }, name: "a_1" }`
	for _, tt := range []struct {
		index   bson.D
		code    int
		message string
	}{
		{d("key", d("a", 1), "name", "other"), 85, "Index already exists with a different name: a_1"},
		{d("key", d("a", 1), "name", "a_1", "expireAfterSeconds", 5), 85,
			`An equivalent index already exists with the same name but different options. Requested index: { v: 2, key: { a: 1 }, name: "a_1", expireAfterSeconds: 5 }, ` + there},
		{d("key", d("a", 1), "name", "a_1", "unique", true), 86,
			`An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: { v: 2, unique: true, key: { a: 1 }, name: "a_1" }, ` + there},
		{d("key", d("a", 1), "name", "twin", "unique", true), 0, ""},
		{d("key", d("_id", 1), "name", "mine"), 0, ""},
	} {
		reply := x.Run("doc1", create(tt.index))
		code, _ := reply.Lookup("code").AsInt64OK()
		message, _ := reply.Lookup("errmsg").StringValueOK()
		if int(code) != tt.code || message != tt.message {
			t.Errorf("%v\n got %d %s\nwant %d %s", tt.index, code, message, tt.code, tt.message)
		}
	}
}

func TestIgnoredIndexOptions(t *testing.T) {
	x := routertest.NewExplainState(t)
	create := d("createIndexes", "e", "indexes", bson.A{d("key", d("z", 1), "name", "z", "nope", 1, "expireAfterSeconds", 5)}, "ignoreUnknownIndexOptions", true)
	x.OK("doc1", create)
	index := x.OK("doc1", d("listIndexes", "e")).Lookup("cursor", "firstBatch", "4")
	if got := routertest.RelaxedJSON(t, index); got != `{"v":2,"key":{"z":1},"name":"z","expireAfterSeconds":5}` {
		t.Errorf("listed as %s", got)
	}
}

func TestCappedCollections(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("doc1", d("create", "log", "capped", true, "size", 4096, "max", 3))
	for i := range 5 {
		x.OK("doc1", d("insert", "log", "documents", bson.A{d("_id", i)}))
	}
	if got := x.IDs("doc1", d("find", "log")); !routertest.Same(got, 2, 3, 4) {
		t.Errorf("holds %v", got)
	}
	x.OK("doc1", d("create", "small", "capped", true, "size", 100)) // 256, as the server rounds: four documents of 64
	for i := range 20 {
		x.OK("doc1", d("insert", "small", "documents", bson.A{d("_id", i, "pad", "0123456789012345678901234567890123456789")}))
	}
	if got := x.IDs("doc1", d("find", "small")); !routertest.Same(got, 16, 17, 18, 19) {
		t.Errorf("holds %v", got)
	}
	for _, wrong := range []bson.D{d("create", "x", "capped", true), d("create", "x", "size", 10), d("shardCollection", "doc1.log", "key", d("_id", 1))} {
		db := "doc1"
		if wrong[0].Key == "shardCollection" {
			db = "admin"
		}
		if code := x.Code(db, wrong); code != 72 {
			t.Errorf("%v: code %d", wrong, code)
		}
	}
}

// partialIndex is an index of what matches.
func partialIndex(matches bson.D) bson.D {
	return d("key", d("m", 1), "name", "m", "partialFilterExpression", matches)
}

func TestIndexOptions(t *testing.T) {
	x := routertest.NewRecordedState(t)
	create := func(index bson.D) bson.D { return d("createIndexes", "p", "indexes", bson.A{index}) }
	partial := d("n", d("$gt", 5))
	x.OK("doc1", create(d("key", d("n", 1), "name", "n_1", "unique", true, "partialFilterExpression", partial)))
	x.OK("doc1", d("insert", "p", "documents", bson.A{d("_id", 1, "n", 1), d("_id", 2, "n", 1), d("_id", 3, "n", 9)}))
	if reply := x.Run("doc1", d("insert", "p", "documents", bson.A{d("_id", 4, "n", 9)})); reply.Lookup("writeErrors", "0", "code").AsInt64() != 11000 {
		t.Errorf("a duplicate inside: %s", reply)
	}
	plan := func(query bson.D) string {
		return routertest.StageNames(x.OK("doc1", d("explain", d("find", "p", "filter", query), "verbosity", "queryPlanner")).Lookup("queryPlanner", "winningPlan", "shards", "0", "winningPlan").Document())
	}
	if got := plan(d("n", d("$gte", 7))); got != "FETCH IXSCAN" {
		t.Errorf("what the index has is read by %s", got)
	}
	if got := plan(d("n", 1)); got != "COLLSCAN" {
		t.Errorf("what it may not have is read by %s", got)
	}
	if got := x.OK("doc1", d("listIndexes", "p")).Lookup("cursor", "firstBatch", "1", "partialFilterExpression"); got.IsZero() {
		t.Error("not listed")
	}
	for _, tt := range []struct {
		index bson.D
		code  int
	}{
		{d("key", d("a", 1), "name", "a", "sparse", true, "partialFilterExpression", partial), 67},
		{d("key", d("a", 1), "name", "a", "nope", 1), 197},
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
		if code := x.Code("doc1", create(tt.index)); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.index, code, tt.code)
		}
	}
	for _, allowed := range []bson.D{
		{}, d("n", 5), d("n", d("$exists", true)), d("n", d("$gt", 5, "$lte", 9)), d("n", d("$type", "string")),
		d("n", d("$in", bson.A{1, 2})), d("$and", bson.A{d("n", 5), d("$or", bson.A{d("a", 1), d("b", 2)})}),
	} {
		x.OK("doc1", create(partialIndex(allowed)))
		x.OK("doc1", d("dropIndexes", "p", "index", "m"))
	}
}
