package reads_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

const flaggedChunks = `{
  "shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
  "collections": [
    {"ns": "db.one", "key": {"k": 1}, "chunks": [
      {"shard": "b", "jumbo": true}, {"min": {"k": 1}, "shard": "c"}, {"min": {"k": 2}, "shard": "b"}, {"min": {"k": 3}, "shard": "a", "jumbo": true},
      {"min": {"k": 4}, "shard": "c"}, {"min": {"k": 5}, "shard": "b"}, {"min": {"k": 6}, "shard": "a", "jumbo": true}]},
    {"ns": "db.two", "key": {"k": 1}, "chunks": [{"shard": "c"}, {"min": {"k": 1}, "shard": "b"}]}]
}`

// Counting chunks by what the routing tables sum up gives what reading every
// chunk gives.
func TestCountedChunks(t *testing.T) {
	x := routertest.NewFromTopology(t, flaggedChunks)
	x.OK("admin", d("split", "db.one", "middle", d("k", 10))) // pieces say jumbo: false
	uuid := x.OK("config", d("find", "collections", "filter", d("_id", "db.one"))).Lookup("cursor", "firstBatch", "0", "uuid")

	counts := d("$sum", 1)
	jumbo := d("$sum", d("$cond", bson.A{d("$eq", bson.A{"$jumbo", true}), 1, 0}))
	matches := []bson.D{
		nil, {}, d("uuid", uuid), d("uuid", uuid, "shard", "b"), d("shard", d("$in", bson.A{"a", "c"})), d("jumbo", true), d("shard", "nowhere"), d("jumbo", false),
		d("jumbo", d("$exists", true)), d("min", d("k", 1)), d("$or", bson.A{d("shard", "a"), d("shard", "b")}),
	}
	groups := []bson.D{
		d("_id", "$shard", "n", counts), d("_id", 1, "n", counts), d("_id", nil, "count", d("$count", d())), d("_id", "$shard"),
		d("_id", d("uuid", "$uuid", "ns", "$ns", "shard", "$shard"), "n", counts, "jumbo", jumbo),
		d("_id", d("$eq", bson.A{"$jumbo", true}), "twice", d("$sum", 2.0), "long", d("$sum", int64(1)), "half", d("$sum", 0.5), "text", d("$sum", "x")),
		d("_id", "$jumbo", "n", counts), d("_id", "$shard", "first", d("$first", "$min")), d("_id", "$shard", "minors", d("$sum", d("$toInt", "1"))),
		d("_id", "$$ROOT.shard", "n", counts), d("_id", "shard", "n", counts), d("_id", "$shard", "of", d("$sum", "$chunks")),
	}
	for i, match := range matches {
		for j, group := range groups {
			t.Run(fmt.Sprint("match ", i, " group ", j), func(t *testing.T) {
				x.T = t
				var fast, slow bson.A
				if match != nil {
					fast = append(fast, d("$match", match))
				}
				slow = append(slow, fast...)
				slow = append(slow, d("$match", d("_id", d("$exists", true)))) // nothing that counts tell
				tail := bson.A{d("$group", group), d("$sort", d("_id", 1))}
				if j%2 == 0 {
					tail = tail[:1]
				}
				got := x.OK("config", d("aggregate", "chunks", "pipeline", append(fast, tail...), "cursor", d())).Lookup("cursor", "firstBatch")
				want := x.OK("config", d("aggregate", "chunks", "pipeline", append(slow, tail...), "cursor", d())).Lookup("cursor", "firstBatch")
				if !got.Equal(want) {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		}
	}
}
