package mock_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// tagged is db.c sharded by a, 120 documents, and tags in the only index that
// serves the key.
func tagged(t *testing.T, release catalog.Release, tags func(i int) any) *model {
	t.Helper()
	m := newCluster(t, threeShards, mock.Config{Release: release, Parameters: map[string]any{
		"reshardingMinimumOperationDurationMillis": 0, "orphanCleanupDelaySecs": 0}})
	m.ok(t, "config", d("update", "settings", "updates", bson.A{
		d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true)}))
	m.ok(t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("a", 1, "tags", 1), "name", "a_tags")}))
	m.ok(t, "admin", d("enableSharding", "db"))
	m.ok(t, "admin", d("shardCollection", ns, "key", d("a", 1)))
	m.ok(t, "admin", d("balancerStop", 1))
	for i := range 120 {
		doc := d("_id", i, "a", i/2, "tags", tags(i), "pad", fmt.Sprintf("%010000d", i))
		m.ok(t, "db", d("insert", "c", "documents", bson.A{doc}))
	}
	return m
}

// Everybody who walks a range of the shard key meets each document once, however
// many entries the index has of it: what comes of it is what comes of it without
// arrays.
func TestEachDocumentOfARangeCountsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	all, some := d("a", bson.MinKey{}), d("a", 10)
	pattern := d("a", 1)
	for _, tt := range []struct {
		name    string
		release catalog.Release
		db      string
		command bson.D
	}{
		{"dataSize", catalog.Release80, "db",
			d("dataSize", ns, "keyPattern", pattern, "min", some, "max", d("a", 40))},
		{"dataSize, estimated", catalog.Release80, "db",
			d("dataSize", ns, "keyPattern", pattern, "min", some, "max", d("a", 40), "estimate", true)},
		{"splitVector", catalog.Release80, "db",
			d("splitVector", ns, "keyPattern", pattern, "maxChunkSizeBytes", 1<<20)},
		{"the median", catalog.Release80, "admin", d("split", ns, "find", d("a", 5))},
		{"moveRange", catalog.Release80, "admin",
			d("moveRange", ns, "min", some, "max", d("a", 40), "toShard", "shard1", "waitForDelete", true)},
		{"moveRange to where it is enough", catalog.Release80, "admin", d("moveRange", ns, "min", all, "toShard", "shard1")},
		{"reshardCollection", catalog.Release80, "admin",
			d("reshardCollection", ns, "key", d("_id", 1), "numInitialChunks", 6)},
		{"analyzeShardKey", catalog.Release80, "admin",
			d("analyzeShardKey", ns, "key", pattern, "readWriteDistribution", false)},
		{"defragmentation", catalog.Release80, "admin",
			d("configureCollectionBalancing", ns, "defragmentCollection", true, "chunkSize", 1)},
		{"the auto-splitter of old", catalog.Release44, "admin", d("balancerStatus", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			arrays := tagged(t, tt.release, func(i int) any { return bson.A{i, i + 1000, i + 2000} })
			none := tagged(t, tt.release, func(i int) any { return d("0", i, "1", i+1000, "2", i+2000) }) // as long
			got, want := arrays.consequences(t, tt.db, tt.command), none.consequences(t, tt.db, tt.command)
			if got != want {
				t.Errorf("with arrays:\n%s\nwithout:\n%s", got, want)
			}
		})
	}
}

// consequences runs a command and lets what follows happen. It tells the answer,
// where the chunks are, and what the log says of documents.
func (m *model) consequences(t *testing.T, db string, command bson.D) string {
	t.Helper()
	reply := m.ok(t, db, command)
	m.ok(t, "admin", d("balancerStart", 1))
	m.sleep(2 * time.Hour)
	seen := fmt.Sprintln(command[0].Key)
	for _, field := range []string{"size", "numObjects", "splitKeys", "keyCharacteristics"} {
		if v := reply.Lookup(field); !v.IsZero() {
			seen += fmt.Sprintln(field, v)
		}
	}
	m.cluster.Lock()
	for chunk := range m.cluster.ConfigDB().Table(ns).All() {
		seen += fmt.Sprintln(chunk.Min, chunk.Shard)
	}
	if err := m.cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
	m.cluster.Unlock()
	cloned := m.ok(t, "config", d("aggregate", "changelog", "cursor", d(), "pipeline", bson.A{
		d("$match", d("what", "moveChunk.commit")), d("$project", d("_id", 0, "cloned", "$details.counts.cloned"))}))
	if n := m.documents(t, "c"); n != 120 {
		t.Errorf("%d documents, want 120", n)
	}
	return seen + fmt.Sprintln(cloned.Lookup("cursor", "firstBatch"))
}
