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
	insert := x.Run("doc1", d("insert", "sharded", "documents", bson.A{d("_id", 2, "k", bson.A{1})}))
	if e := insert.Lookup("writeErrors", "0"); e.Document().Lookup("code").AsInt64() != 61 ||
		e.Document().Lookup("errmsg").StringValue() != "Shard key cannot contain array values or array descendants." {
		t.Error(insert)
	}
}
