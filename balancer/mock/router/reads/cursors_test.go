package reads_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// Cursors: batches, their limits, and killing.
func TestCursors(t *testing.T) {
	x := routertest.NewS0(t)
	for i := range 250 {
		x.OK("shop", d("insert", "many", "documents", bson.A{d("_id", i)}))
	}
	reply := x.OK("shop", d("find", "many"))
	batch, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	id := reply.Lookup("cursor", "id").Int64()
	if len(batch) != 101 || id == 0 {
		t.Fatalf("first batch of %d, id %d", len(batch), id)
	}
	reply = x.OK("shop", d("getMore", id, "collection", "many", "batchSize", 100))
	if batch, _ = reply.Lookup("cursor", "nextBatch").Array().Values(); len(batch) != 100 {
		t.Errorf("second batch of %d", len(batch))
	}
	if code := x.Code("shop", d("getMore", id, "collection", "other")); code != 13 {
		t.Errorf("another namespace: code %d", code)
	}
	x.OK("shop", d("killCursors", "many", "cursors", bson.A{id}))
	if code := x.Code("shop", d("getMore", id, "collection", "many")); code != 43 {
		t.Errorf("a killed cursor: code %d", code)
	}
	reply = x.OK("shop", d("find", "many", "limit", 3, "sort", d("_id", -1), "projection", d("_id", 1)))
	if got := reply.Lookup("cursor", "firstBatch", "0", "_id").Int32(); got != 249 || reply.Lookup("cursor", "id").Int64() != 0 {
		t.Errorf("sorted: %s", reply)
	}
	for _, backwards := range []bson.D{d("find", "many", "limit", 3, "sort", d("$natural", -1)), d("find", "many", "limit", 3, "hint", d("$natural", -1))} {
		reply = x.OK("shop", backwards)
		if got := reply.Lookup("cursor", "firstBatch", "2", "_id").Int32(); got != 247 {
			t.Errorf("from the end: %s", reply)
		}
	}
	reply = x.OK("shop", d("find", "many", "limit", 3, "sort", d("$natural", 1)))
	if got := reply.Lookup("cursor", "firstBatch", "2", "_id").Int32(); got != 2 {
		t.Errorf("as they come: %s", reply)
	}
	if code := x.Code("shop", d("find", "many", "tailable", true)); code != 2 {
		t.Errorf("tailable: code %d", code)
	}
	for _, wrong := range []bson.D{d("$natural", 0), d("$natural", "x"), d("$natural", 1, "a", 1)} {
		if code := x.Code("shop", d("find", "many", "sort", wrong)); code != 2 {
			t.Errorf("sort %v: code %d", wrong, code)
		}
	}
}
