package reads_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// What maxTimeMS allows a command is for all its batches together: a cursor can't
// compute without end because each of its batches is quick.
func TestMaxTimeIsThatOfAllBatches(t *testing.T) {
	x := routertest.New(t, mock.Config{})
	docs := bson.A{}
	for i := range 400 {
		docs = append(docs, d("_id", i))
	}
	x.OK("db", d("insert", "c", "documents", docs))
	slow := d("$project", d("n", d("$reduce", d("input", d("$range", bson.A{0, 50_000}), "initialValue", 0,
		"in", d("$add", bson.A{"$$value", "$$this"})))))
	command := d("aggregate", "c", "pipeline", bson.A{slow}, "cursor", d("batchSize", 1), "maxTimeMS", 300)
	reply := x.Run("db", command)
	for range docs {
		if code, failed := reply.Lookup("code").AsInt64OK(); failed {
			if code != 50 {
				t.Errorf("answered %s", reply)
			}
			return
		}
		reply = x.Run("db", d("getMore", reply.Lookup("cursor", "id").Int64(), "collection", "c", "batchSize", 1))
	}
	t.Error("all documents were computed")
}
