package clients_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// rules/03-catalog-and-keys §3.12: the one sharded collection of config. It is made after some
// minutes, with one chunk, and counts wherever chunks count.
func TestSystemSessions(t *testing.T) {
	x := routertest.NewS0(t)
	entry := func() bson.Raw {
		return x.First("config", d("find", "collections", "filter", d("_id", "config.system.sessions")))
	}
	if doc := entry(); doc != nil {
		t.Errorf("it is there at once: %s", doc)
	}
	x.Sleep(6 * time.Minute)
	doc := entry()
	if doc.Lookup("key", "_id").Int32() != 1 || doc.Lookup("maxChunkSizeBytes").Int64() != 200000 || doc.Lookup("unique").Boolean() || doc.Lookup("noBalance").Boolean() {
		t.Errorf("entry %s", doc)
	}
	if n := x.OK("config", d("count", "chunks", "query", d("uuid", doc.Lookup("uuid")))).Lookup("n").Int32(); n != 1 {
		t.Errorf("%d chunks", n)
	}
	if index := x.OK("config", d("listIndexes", "system.sessions")).Lookup("cursor", "firstBatch", "1").Document(); index.Lookup("name").StringValue() != "lsidTTLIndex" || index.Lookup("expireAfterSeconds").Int32() != 1800 {
		t.Errorf("index %s", index)
	}
	distribution := x.First("admin", d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d()), d("$match", d("ns", "config.system.sessions"))}, "cursor", d()))
	if distribution.Lookup("shards", "0", "shardName").StringValue() != "shardA" {
		t.Errorf("distribution %s", distribution)
	}
	x.OK("config", d("insert", "system.sessions", "documents", bson.A{d("_id", d("id", 1), "lastUse", bson.DateTime(0))}))
	x.OK("admin", d("moveChunk", "config.system.sessions", "find", d("_id", d("id", 1)), "to", "shardC"))
	if n := x.OK("config", d("count", "system.sessions", "query", d("_id.id", 1))).Lookup("n").Int32(); n != 1 {
		t.Errorf("%d sessions after the move", n)
	}
	x.OK("admin", d("configureCollectionBalancing", "config.system.sessions", "chunkSize", 5))
	x.OK("admin", d("configureCollectionBalancing", "config.system.sessions", "chunkSize", 0))
	if n := entry().Lookup("maxChunkSizeBytes").Int64(); n != 200000 {
		t.Errorf("chunk size %d after the reset", n)
	}
	x.OK("admin", d("movePrimary", "logs", "to", "shardA"))
	x.OK("admin", d("removeShard", "shardC"))
	if n := x.OK("admin", d("removeShard", "shardC")).Lookup("remaining", "chunks").Int64(); n != 2 {
		t.Errorf("%d chunks remain on the shard, want that of logs.raw and that of the sessions", n)
	}
	x.CheckRefusals("admin", []routertest.Refusal{
		{d("renameCollection", "config.system.sessions", "to", "config.other"), 20},
		{d("reshardCollection", "config.system.sessions", "key", d("x", 1)), 20},
		{d("shardCollection", "config.system.sessions", "key", d("x", 1)), 23},
	})
	if code := x.Code("config", d("drop", "system.sessions")); code != 20 {
		t.Errorf("drop: code %d", code)
	}
	if names := x.OK("config", d("listCollections", 1, "filter", d("name", "system.sessions"))).Lookup("cursor", "firstBatch", "0", "info", "uuid"); !names.Equal(doc.Lookup("uuid")) {
		t.Errorf("listCollections shows the UUID %s", names)
	}
	x.OK("admin", d("balancerStart", 1))
	x.Sleep(time.Hour)
	x.CheckInvariants()
}

func TestRefreshLogicalSessionCacheNow(t *testing.T) {
	x := routertest.NewS0(t)
	for range 2 {
		x.OK("admin", d("refreshLogicalSessionCacheNow", 1))
	}
	if n := x.OK("config", d("count", "collections", "query", d("_id", "config.system.sessions"))).Lookup("n").Int32(); n != 1 {
		t.Errorf("%d entries", n)
	}
}
