package mock_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// Split points are told apart by the shard key alone, without what an index adds to it
// (rules/02-migration-and-metadata §5.8: keys equal to the previous point are skipped). A chunk of one
// value can't be cut and gets its flag; it is not tried for ever with an empty range.
func TestOneValueIsNotCutUnderALongerIndex(t *testing.T) {
	m := newCluster(t, `{"shards": [{"id": "a"}, {"id": "b"}]}`, mock.Config{})
	m.ok(t, "config", d("update", "settings", "updates",
		bson.A{d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true)}))
	m.ok(t, "admin", d("balancerStop", 1))
	m.ok(t, "admin", d("enableSharding", "db", "primaryShard", "a"))
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("k", 1, "j", 1), "name", "longer")}))
	m.ok(t, "admin", d("shardCollection", "db.c", "key", d("k", 1)))
	m.ok(t, "admin", d("split", "db.c", "middle", d("k", 25)))
	docs := bson.A{}
	for j := range 60 {
		docs = append(docs, d("k", 25, "j", j, "pad", strings.Repeat("x", 100_000)))
	}
	m.ok(t, "db", d("insert", "c", "documents", docs))

	reply, _ := m.run("admin", d("moveRange", "db.c", "min", d("k", 25), "toShard", "b"))
	if code := reply.Lookup("code").AsInt64(); code != 153 {
		t.Errorf("a move by hand: code %d, want 153 ChunkTooBig: %s", code, reply)
	}
	if reply, ok := m.run("admin", d("split", "db.c", "find", d("k", 25))); ok {
		t.Errorf("a split by its median: %s", reply)
	}
	m.ok(t, "admin", d("balancerStart", 1))
	m.sleep(10 * time.Minute)
	if n := m.count(t, "chunks", d("jumbo", true, "min", d("k", 25))); n != 1 {
		t.Errorf("%d chunks are flagged, want 1", n)
	}
	if n := m.count(t, "changelog", d("what", "moveChunk.start", "details.min", d("k", 25))); n > 5 {
		t.Errorf("it was tried %d times", n)
	}
}
