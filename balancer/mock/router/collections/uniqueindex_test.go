package collections_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// An index becomes unique in two steps: first no new duplicates come in, then,
// when the old ones are gone, it is unique.
func TestIndexBecomesUnique(t *testing.T) {
	x := routertest.NewS0(t)
	index := func(change ...any) bson.D {
		return d("collMod", "users", "index", append(d("name", "n_1"), d(change...)...))
	}
	insert := func(id, n int) bson.D { return d("insert", "users", "documents", bson.A{d("_id", id, "n", n)}) }
	x.OK("shop", d("delete", "users", "deletes", bson.A{d("q", d(), "limit", 0)}))
	x.OK("shop", d("createIndexes", "users", "indexes", bson.A{d("key", d("n", 1), "name", "n_1")}))
	for id := range 3 {
		x.OK("shop", insert(id, id/2)) // 0 and 1 have the same n
	}
	part := x.OK("shop", index("prepareUnique", true))
	if part.Lookup("prepareUnique_old").Boolean() || !part.Lookup("prepareUnique_new").Boolean() {
		t.Errorf("prepareUnique answered %s", part)
	}
	if reply := x.Run("shop", insert(7, 1)); reply.Lookup("writeErrors", "0", "code").Int32() != 11000 {
		t.Errorf("a new duplicate: %s", reply)
	}
	x.OK("shop", d("update", "users", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("x", 1)))})) // an old one may stay
	reply := x.Run("shop", index("unique", true))
	ids, _ := reply.Lookup("violations", "0", "ids").ArrayOK()
	if reply.Lookup("code").Int32() != 359 || reply.Lookup("codeName").StringValue() != "CannotConvertIndexToUnique" || ids.String() != `[{"$numberInt":"0"},{"$numberInt":"1"}]` {
		t.Errorf("with duplicates: %s", reply)
	}
	x.OK("shop", d("delete", "users", "deletes", bson.A{d("q", d("_id", 1), "limit", 1)}))
	x.OK("shop", append(index("unique", true), bson.E{Key: "dryRun", Value: true}))
	spec := func() bson.Raw {
		return x.OK("shop", d("listIndexes", "users")).Lookup("cursor", "firstBatch", "1").Document()
	}
	if !spec().Lookup("unique").IsZero() || !spec().Lookup("prepareUnique").Boolean() {
		t.Errorf("a trial made it %s", spec())
	}
	x.OK("shop", index("unique", true))
	x.OK("shop", index("prepareUnique", true)) // it is more than that
	if !spec().Lookup("unique").Boolean() || !spec().Lookup("prepareUnique").IsZero() {
		t.Errorf("in the end it is %s", spec())
	}
}

// A sharded collection's unique index begins with the shard key.
func TestIndexBecomesUniqueOnlyWithTheShardKey(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("createIndexes", "orders", "indexes", bson.A{d("key", d("b", 1), "name", "b_1"), d("key", d("a", 1, "b", 1), "name", "a_1_b_1")}))
	if code := x.Code("shop", d("collMod", "orders", "index", d("name", "b_1", "prepareUnique", true))); code != 67 {
		t.Errorf("code %d", code)
	}
	x.OK("shop", d("collMod", "orders", "index", d("name", "a_1_b_1", "prepareUnique", true)))
	x.OK("shop", d("collMod", "orders", "index", d("name", "a_1_b_1", "unique", true)))
}

// What change streams would need is kept and shown.
func TestPreImagesAreKept(t *testing.T) {
	x := routertest.NewS0(t)
	options := func() bson.Raw {
		return x.OK("shop", d("listCollections", 1, "filter", d("name", "p"))).Lookup("cursor", "firstBatch", "0", "options").Document()
	}
	x.OK("shop", d("create", "p", "changeStreamPreAndPostImages", d("enabled", true), "validationAction", "warn", "validationLevel", "moderate"))
	if text := options().String(); text != `{"validationLevel": "moderate","validationAction": "warn","changeStreamPreAndPostImages": {"enabled": true}}` {
		t.Errorf("options %s", text)
	}
	x.OK("shop", d("collMod", "p", "changeStreamPreAndPostImages", d("enabled", false)))
	if v := options().Lookup("changeStreamPreAndPostImages"); !v.IsZero() {
		t.Errorf("options %s", options())
	}
}
