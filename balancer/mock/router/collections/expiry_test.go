package collections_test

import (
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// The manual's "TTL Indexes": a document goes at the first look, once a minute,
// after the date in the field and expireAfterSeconds; of an array the earliest
// date counts; a document without a date stays.
func TestExpiredDocumentsAreDeleted(t *testing.T) {
	x := routertest.NewExplainState(t)
	now := x.Cluster.Clock().Now()
	at := func(after time.Duration) bson.DateTime { return bson.NewDateTimeFromTime(now.Add(after)) }
	x.OK("doc1", d("createIndexes", "e", "indexes", bson.A{d("key", d("at", 1), "name", "at_1", "expireAfterSeconds", 3600)}))
	for k, v := range map[int]any{
		100: at(-2 * time.Hour), 101: at(0), 102: at(time.Hour), 103: bson.A{at(5 * time.Hour), at(-2 * time.Hour)}, 104: "text", 105: 7,
		-100: at(-2 * time.Hour), // on the other shard
	} {
		x.OK("doc1", d("insert", "e", "documents", bson.A{d("_id", k, "k", k, "at", v)}))
	}
	left := func() []any {
		return x.IDs("doc1", d("find", "e", "filter", d("at", d("$exists", true)), "sort", d("_id", 1)))
	}
	x.Sleep(50 * time.Second)
	if got := left(); len(got) != 7 {
		t.Errorf("before the first look %v are left", got)
	}
	x.Sleep(15 * time.Second)
	if got := left(); !routertest.Same(got, 101, 102, 104, 105) {
		t.Errorf("after a minute %v are left", got)
	}
	x.Sleep(time.Hour)
	if got := left(); !routertest.Same(got, 102, 104, 105) {
		t.Errorf("after an hour %v are left", got)
	}
	if n := x.OK("doc1", d("count", "e", "query", d("at", d("$exists", false)))).Lookup("n").AsInt64(); n != 20 {
		t.Errorf("%d documents without the field are left", n)
	}
	x.OK("admin", d("mockInvariants", 1))
}

func TestExpiryOfPartialIndexes(t *testing.T) {
	x := routertest.NewRecordedState(t)
	old := bson.NewDateTimeFromTime(x.Cluster.Clock().Now().Add(-time.Hour))
	x.OK("doc1", d("createIndexes", "p", "indexes", bson.A{d("key", d("at", 1), "name", "at_1", "expireAfterSeconds", 0, "partialFilterExpression", d("done", true))}))
	x.OK("doc1", d("insert", "p", "documents", bson.A{d("_id", 1, "at", old, "done", true), d("_id", 2, "at", old, "done", false)}))
	x.Sleep(2 * time.Minute)
	if got := x.IDs("doc1", d("find", "p")); !routertest.Same(got, 2) {
		t.Errorf("%v are left", got)
	}
}

// collMod changes the time, and the looks end with the last such index.
func TestExpiryChanges(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("doc1", d("createIndexes", "p", "indexes", bson.A{d("key", d("at", 1), "name", "at_1", "expireAfterSeconds", 3600), d("key", d("b", 1), "name", "b_1"),
		d("key", d("c", 1), "name", "c_1", "expireAfterSeconds", math.NaN())}))
	x.OK("doc1", d("insert", "p", "documents", bson.A{d("_id", 1, "at", bson.NewDateTimeFromTime(x.Cluster.Clock().Now()))}))
	modify := func(name string, seconds any) bson.D {
		return d("collMod", "p", "index", d("name", name, "expireAfterSeconds", seconds))
	}
	reply := x.OK("doc1", modify("at_1", 10))
	if was, is := reply.Lookup("raw", "rs0/127.0.0.1:27120", "expireAfterSeconds_old"), reply.Lookup("raw", "rs0/127.0.0.1:27120", "expireAfterSeconds_new"); was.IsZero() && reply.Lookup("expireAfterSeconds_old").IsZero() {
		t.Errorf("from %s to %s: %s", was, is, reply)
	}
	x.OK("doc1", modify("b_1", 10))
	indexes := x.OK("doc1", d("listIndexes", "p"))
	for _, i := range []string{"1", "2"} {
		if n := indexes.Lookup("cursor", "firstBatch", i, "expireAfterSeconds"); n.AsInt64() != 10 {
			t.Errorf("index %s lists %s", i, n)
		}
	}
	if n := indexes.Lookup("cursor", "firstBatch", "3", "expireAfterSeconds"); n.AsInt64() != math.MaxInt32 {
		t.Errorf("NaN seconds are listed as %s", n)
	}
	for _, wrong := range []bson.D{modify("b_1", -1), modify("b_1", "x"), modify("_id_", 1)} {
		if code := x.Code("doc1", wrong); code != 72 && code != 14 {
			t.Errorf("%v: code %d", wrong, code)
		}
	}
	x.Sleep(2 * time.Minute)
	if got := x.IDs("doc1", d("find", "p")); len(got) != 0 {
		t.Errorf("%v are left", got)
	}
	if code := x.Code("doc1", d("create", "capped", "capped", "yes")); code != 14 {
		t.Errorf("code %d", code)
	}
	x.OK("doc1", d("create", "capped", "capped", true, "size", 4096))
	if code := x.Code("doc1", d("createIndexes", "capped", "indexes", bson.A{d("key", d("at", 1), "name", "at_1", "expireAfterSeconds", 1)})); code != 67 {
		t.Errorf("of a capped collection: code %d, want 67", code)
	}
}
