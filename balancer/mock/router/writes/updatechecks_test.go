package writes_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// Routers target updates of sharded collections before any shard looks at them, so that their
// errors come first; of others it is the shard's error.
func TestRoutersCheckUpdatesBeforeShards(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("admin", d("shardCollection", "doc1.sharded", "key", d("k", 1)))
	x.OK("doc1", d("create", "plain"))
	for _, c := range []string{"sharded", "plain"} {
		x.OK("doc1", d("insert", c, "documents", bson.A{d("_id", 1, "k", 1)}))
	}
	for _, tt := range []struct {
		name           string
		statement      bson.D
		sharded, plain int64 // codes, 0 where it is done
	}{
		{"an operator first", d("q", d("k", 1), "u", d("$set", d("a", 1), "b", 1)), 12, 9},
		{"a field first", d("q", d("k", 1), "u", d("b", 1, "$set", d("a", 1))), 12, 52},
		{"a replacement of many", d("q", d("k", 1), "u", d("k", 1, "a", 1), "multi", true), 72, 9},
		{"an upsert of many without the key", d("q", d("a", 9), "u", d("$set", d("b", 1)), "multi", true, "upsert", true), 61, 0},
		{"an upsert of many with the key", d("q", d("k", 7), "u", d("$set", d("b", 1)), "multi", true, "upsert", true), 0, 0},
		{"an upsert of many with a range of keys", d("q", d("k", d("$gt", 7)), "u", d("$set", d("b", 1)), "multi", true, "upsert", true), 61, 0},
		{"an array in the key", d("q", d("_id", 1, "k", 1), "u", d("$set", d("k", bson.A{1}))), 54, 0},
	} {
		for c, want := range map[string]int64{"sharded": tt.sharded, "plain": tt.plain} {
			reply := x.Run("doc1", d("update", c, "updates", bson.A{tt.statement}))
			if code, _ := reply.Lookup("writeErrors", "0", "code").AsInt64OK(); code != want {
				t.Errorf("%s, %s: %s, want code %d", tt.name, c, reply, want)
			}
			elems := bson.D{{Key: "update", Value: 0}}
			for _, e := range tt.statement {
				name := map[string]string{"q": "filter", "u": "updateMods"}[e.Key]
				if name == "" {
					name = e.Key
				}
				elems = append(elems, bson.E{Key: name, Value: e.Value})
			}
			bulk := x.Run("admin", d("bulkWrite", 1, "ops", bson.A{elems}, "nsInfo", bson.A{d("ns", "doc1."+c)}))
			if code, _ := bulk.Lookup("cursor", "firstBatch", "0", "code").AsInt64OK(); code != want {
				t.Errorf("%s, %s, bulkWrite: %s, want code %d", tt.name, c, bulk, want)
			}
		}
	}
}

// A router knows of no chunk for a document with an array on the path of a field of the key; a collection that is
// not sharded takes it.
func TestRoutersRefuseArraysInTheKey(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("admin", d("shardCollection", "doc1.sharded", "key", d("k", 1, "a.b", 1)))
	x.OK("doc1", d("create", "plain"))
	for id, tt := range []struct {
		doc     bson.D
		refused bool
	}{
		{d("k", bson.A{1}, "a", d("b", 1)), true},
		{d("k", 1, "a", d("b", bson.A{})), true},
		{d("k", 1, "a", bson.A{d("b", 1)}), true},
		{d("k", 1, "a", d("b", d("c", bson.A{1}))), false}, // inside the value, which is an object
		{d("k", 1, "a", d("b", 1), "c", bson.A{1}), false},
	} {
		for i, c := range []string{"sharded", "plain"} {
			one := x.Run("doc1", d("insert", c, "documents", bson.A{append(d("_id", id), tt.doc...)})).Lookup("writeErrors", "0")
			many := x.Run("admin", d("bulkWrite", 1, "ops", bson.A{d("insert", 0, "document", append(d("_id", id+100), tt.doc...))},
				"nsInfo", bson.A{d("ns", "doc1."+c)})).Lookup("cursor", "firstBatch", "0")
			for how, e := range map[string]bson.RawValue{"insert": one, "bulkWrite": many} {
				failed, _ := e.DocumentOK()
				code, _ := failed.Lookup("code").AsInt64OK()
				text, _ := failed.Lookup("errmsg").StringValueOK()
				want, wantText := int64(0), ""
				if tt.refused && i == 0 {
					want, wantText = 61, "Shard key cannot contain array values or array descendants."
				}
				if code != want || text != wantText {
					t.Errorf("%s of %v into %s: code %d %q, want %d %q", how, tt.doc, c, code, text, want, wantText)
				}
			}
		}
	}
}
