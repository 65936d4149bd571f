package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// From 9.0 allowChunkOperations: false forbids splits, merges and moves of a collection, by hand
// and by the balancer; older servers do not know the flag.
func TestChunkOperationsForbidden(t *testing.T) {
	const uneven = `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "db.c", "key": {"x": 1}, "chunkSizeMB": 1,
		"chunks": [{"shard": "a", "max": {"x": 1}}, {"shard": "a", "max": {"x": 2}}, {"shard": "a"}]}]}`
	for _, tt := range []struct {
		release catalog.Release
		code    int64 // 0 = carried out
	}{
		{catalog.Release83, 0},
		{catalog.Release90, 117},
	} {
		m := newCluster(t, uneven, mock.Config{Release: tt.release})
		change := func(update bson.D) {
			m.ok(t, "config", d("update", "collections", "updates", bson.A{d("q", d("_id", "db.c"), "u", update)}))
		}
		m.ok(t, "admin", d("balancerStop", 1))
		change(d("$set", d("allowChunkOperations", false)))
		for _, command := range []bson.D{
			d("split", "db.c", "middle", d("x", 7)),
			d("mergeChunks", "db.c", "bounds", bson.A{d("x", bson.MinKey{}), d("x", 2)}),
			d("mergeAllChunksOnShard", "db.c", "shard", "a"),
			d("moveRange", "db.c", "min", d("x", 7), "toShard", "b"),
		} {
			if tt.code == 0 {
				m.ok(t, "admin", command)
			} else {
				m.refused(t, "admin", command, tt.code)
			}
		}
		for x := range 8 {
			m.ok(t, "db", d("insert", "c", "documents", bson.A{d("x", x, "filler", make([]byte, 1<<20))}))
		}
		before := m.count(t, "changelog", d("what", "moveChunk.commit"))
		m.ok(t, "admin", d("balancerStart", 1))
		m.sleep(10 * time.Minute)
		if moved := m.count(t, "changelog", d("what", "moveChunk.commit")) > before; moved != (tt.code == 0) {
			t.Errorf("%s: the balancer moved: %v", tt.release, moved)
		}
		change(d("$unset", d("allowChunkOperations", "")))
		m.sleep(10 * time.Minute)
		if m.count(t, "changelog", d("what", "moveChunk.commit")) == before {
			t.Errorf("%s: nothing moved without the flag", tt.release)
		}
	}
}
