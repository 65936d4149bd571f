package members_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// shardAndConfig returns a shard and the config server beside a mongos.
func shardAndConfig(x *tester) map[string]*tester {
	members := map[string]*tester{}
	for name, m := range map[string]router.Member{
		"shard":  {Shard: "shardA", Set: "rsA", Address: "127.0.0.1:27018"},
		"config": {Shard: catalog.ConfigServerID, Set: "cfg", Address: "127.0.0.1:27019"},
	} {
		members[name] = &tester{T: x.T, Router: m.NewNode(x.Router), Cluster: x.Cluster}
	}
	return members
}

// What an exporter, mongostat, mongotop and others ask of a shard and of the
// config server, and the code that they answer; 0 is success.
func TestRequestsOfToolsToMembers(t *testing.T) {
	pipeline := func(on any, stages ...any) bson.D {
		return d("aggregate", on, "pipeline", bson.A(stages), "cursor", d())
	}
	requests := []struct {
		db      string
		command bson.D
		code    int
	}{
		{"admin", d("hello", 1, "helloOk", true), 0},
		{"admin", d("isMaster", 1), 0},
		{"admin", d("buildInfo", 1), 0},
		{"admin", d("getDiagnosticData", "1"), 0},
		{"admin", d("getCmdLineOpts", "1"), 0},
		{"admin", d("replSetGetConfig", 1), 0},
		{"admin", d("replSetGetStatus", 1), 0},
		{"admin", d("serverStatus", 1, "recordStats", 0), 0},
		{"admin", d("top", "1"), 0},
		{"admin", d("getParameter", 1, "featureCompatibilityVersion", 1), 0},
		{"admin", d("getParameter", 1, "featureFlagMoveCollection", 1), 0},
		{"admin", d("getParameter", 1, "featureFlagThatIsNone", 1), 72},
		{"admin", d("getParameter", "*"), 0},
		{"admin", d("setParameter", 1, "featureFlagMoveCollection", false), 20},
		{"admin", d("currentOp", true, "active", true, "microsecs_running", d("$exists", true), "ns", d("$ne", "")), 0},
		{"admin", pipeline(1, d("$currentOp", d("allUsers", true, "idleConnections", true))), 0},
		{"admin", d("listDatabases", 1, "nameOnly", true, "filter", d("name", d("$nin", bson.A{"admin", "config", "local"}))), 0},
		{"shop", d("listCollections", 1, "nameOnly", true, "filter", d("type", "collection")), 0},
		{"shop", d("dbStats", 1, "scale", 1, "freeStorage", 1), 0},
		{"shop", d("collStats", "orders"), 0},
		{"shop", d("profile", -1), 0},
		{"shop", d("profile", 2), 238},
		{"admin", d("connPoolStats", 1), 0},
		{"admin", d("connectionStatus", 1), 0},
		{"admin", d("hostInfo", 1), 0},
		{"admin", d("getLog", "startupWarnings"), 0},
		{"admin", d("lockInfo", 1), 0},
		{"admin", d("getDefaultRWConcern", 1), 0},
		{"local", d("find", "startup_log", "sort", d("startTime", -1), "limit", 1), 0},
		{"local", d("find", "oplog.rs", "sort", d("$natural", 1), "limit", 1), 0},
		{"local", d("find", "oplog.rs", "filter", d("_id", 5)), 0},
		{"local", d("collStats", "oplog.rs"), 0},
		{"local", pipeline("oplog.rs", d("$collStats", d("storageStats", d()))), 0},
		{"local", d("find", "system.replset"), 0},
		{"local", d("listIndexes", "startup_log"), 0},
		{"config", d("find", "rangeDeletions"), 0},
		{"config", d("count", "rangeDeletions"), 0},
		{"config", pipeline("rangeDeletions", d("$group", d("_id", "$nss", "n", d("$sum", "$numOrphanDocs")))), 0},
		{"config", d("distinct", "cache.collections", "key", "_id"), 0},
		{"config", d("explain", d("find", "cache.collections", "filter", d("_id", "shop.orders"))), 0},
		{"config", d("find", "cache.chunks.shop.orders", "sort", d("_id", 1)), 0},
		{"admin", d("count", "system.users"), 0},
		{"admin", d("find", "system.version", "filter", d("_id", "shardIdentity"), "limit", 1), 0},
		{"admin", d("getShardVersion", "shop.orders"), 0},
		{"admin", d("shardingState", 1), 0},
		{"admin", d("_flushRoutingTableCacheUpdates", "shop.orders", "syncFromConfig", true), 0},
		{"admin", d("_flushRoutingTableCacheUpdates", "shop"), 73},
		{"admin", d("killOp", 1, "op", 99), 0},
		{"shop", d("splitVector", "shop.orders", "keyPattern", d("a", 1), "maxChunkSize", 0), 72},
		{"admin", d("configureFailPoint", "failCommand", "mode", "off"), 59}, // without enableTestCommands
		{"shop", d("insert", "orders", "documents", bson.A{d("a", 1)}), 13},
		{"admin", d("balancerStatus", 1), 59},
	}
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("a", 1), d("a", 500)}))
	for name, member := range shardAndConfig(x) {
		for _, r := range requests {
			reply := member.Run(r.db, r.command)
			ok, _ := reply.Lookup("ok").AsFloat64OK()
			if code, _ := reply.Lookup("code").AsInt64OK(); int(code) != r.code || (ok == 1) != (r.code == 0) {
				t.Errorf("%s: %v answered %s, want code %d", name, r.command, reply, r.code)
			}
		}
	}
}

// mongostat and its like read serverStatus into fields of their own types, and
// give up on a number that does not fit.
func TestServerStatusFitsTools(t *testing.T) {
	type opcounters struct {
		Insert, Query, Update, Delete, Getmore, Command int64
	}
	type status struct {
		Host, Version, Process     string
		Pid, Uptime, UptimeMillis  int64
		UptimeEstimate             int64
		LocalTime                  time.Time
		Asserts                    map[string]int64
		Connections                *struct{ Current, Available, TotalCreated int64 }
		Network                    *struct{ BytesIn, BytesOut, NumRequests int64 }
		Opcounters, OpcountersRepl *opcounters
		Mem                        *struct{ Bits, Resident, Virtual int64 }
		GlobalLock                 *struct{ TotalTime int64 }
		Repl                       *struct{ SetName, Me string }
		ExtraInfo                  *struct{ Threads int64 } `bson:"extra_info"`
	}
	x := routertest.NewS0(t)
	nodes := shardAndConfig(x)
	nodes["mongos"] = x
	for name, node := range nodes {
		// In the first second of a node, and before a whole one has passed.
		raw := node.OK("admin", d("serverStatus", 1))
		var s status
		if err := bson.Unmarshal(raw, &s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if raw.Lookup("uptime").Type != bson.TypeDouble || raw.Lookup("uptimeEstimate").Type != bson.TypeInt64 {
			t.Errorf("%s: uptime is %s", name, raw.Lookup("uptime"))
		}
		if s.Connections == nil || s.Network == nil || s.Opcounters == nil || s.Mem == nil || s.Pid == 0 {
			t.Errorf("%s lacks sections: %s", name, raw)
		}
		if isMember := name != "mongos"; (s.Repl != nil && s.Repl.SetName != "" && s.GlobalLock != nil) != isMember {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A shard's own catalog follows the state: what it owns, what it has to delete,
// what it takes part in.
func TestMembersShowTheState(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("a", 1), d("a", 2)}))
	members := shardAndConfig(x)
	shard, config := members["shard"], members["config"]
	x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 1), "to", "shardB"))
	task := shard.OK("config", d("find", "rangeDeletions")).Lookup("cursor", "firstBatch", "0").Document()
	if task.Lookup("nss").StringValue() != "shop.orders" || task.Lookup("numOrphanDocs").Int64() != 2 ||
		task.Lookup("donorShardId").StringValue() != "shardA" || !task.Lookup("pending").IsZero() {
		t.Errorf("the deletion is %s", task)
	}
	again := shard.OK("config", d("find", "rangeDeletions", "filter", d("_id", task.Lookup("_id"))))
	if again.Lookup("cursor", "firstBatch", "0").IsZero() {
		t.Error("a deletion is not found by its _id")
	}
	version := x.Cluster.ConfigDB().Table("shop.orders").ShardVersion("shardA").Timestamp()
	if v := shard.OK("admin", d("getShardVersion", "shop.orders")).Lookup("global"); v.Type != bson.TypeTimestamp {
		t.Errorf("the version is %s, want %v", v, version)
	} else if at, i := v.Timestamp(); at != version.T || i != version.I {
		t.Errorf("the version is %s, want %v", v, version)
	}
	if v := shard.OK("admin", d("getShardVersion", "no.such")).Lookup("global"); v.Type != bson.TypeString {
		t.Errorf("the version of what it does not know is %s", v)
	}
	chunks := shard.OK("config", d("count", "cache.chunks.shop.orders")).Lookup("n").Int32()
	if int(chunks) != x.Cluster.ConfigDB().Table("shop.orders").Len() {
		t.Errorf("%d chunks in the cache", chunks)
	}
	if cached := config.OK("config", d("count", "cache.collections")).Lookup("n").Int32(); cached != 0 {
		t.Errorf("the config server caches %d collections", cached)
	}
	list := shard.OK("shop", d("listCollections", 1, "filter", d("name", "orders"))).Lookup("cursor", "firstBatch", "0").Document()
	want := x.OK("shop", d("listCollections", 1, "filter", d("name", "orders"))).Lookup("cursor", "firstBatch", "0", "info", "uuid")
	if !list.Lookup("info", "uuid").Equal(want) {
		t.Errorf("listed as %s, want uuid %s", list, want)
	}
	if first, last := shard.OK("local", d("find", "oplog.rs")), x.Cluster.IDs().ClusterTime(); first.Lookup("cursor", "firstBatch", "1", "ts").IsZero() {
		t.Errorf("the oplog is %s at %v", first, last)
	}
}

// A split as a router asks a shard for it, and a merge.
func TestSplitsAndMergesOnAShard(t *testing.T) {
	x := routertest.NewS0(t)
	shard := shardAndConfig(x)["shard"]
	table := x.Cluster.ConfigDB().Table("shop.orders")
	chunk := table.At(0)
	for i := range table.Len() {
		if next := table.At(i); next.Shard == "shardA" {
			chunk = next
		}
	}
	lower, upper := table.Pattern().Bound(chunk.Min), table.Pattern().Bound(chunk.Max)
	split := func(more ...any) bson.D {
		return append(d("splitChunk", "shop.orders", "keyPattern", d("a", 1), "from", "shardA", "min", lower, "max", upper,
			"splitKeys", bson.A{d("a", 3), d("a", 4)}), d(more...)...)
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{split(), 40414},
		{split("epoch", bson.NewObjectID()), 150},
		{split("epoch", table.Epoch()), 0},
		{d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", 3), upper}), 0},
		{d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", bson.MinKey{}), d("a", bson.MaxKey{})}), 20},
		{d("splitChunk", "shop.users", "keyPattern", d("a", 1), "from", "shardA", "min", lower, "max", upper, "splitKeys", bson.A{},
			"epoch", table.Epoch()), 118},
	} {
		reply := shard.Run("admin", tt.command)
		if code, _ := reply.Lookup("code").AsInt64OK(); int(code) != tt.code {
			t.Errorf("%v answered %s, want code %d", tt.command, reply, tt.code)
		}
	}
	if n := x.Cluster.ConfigDB().Table("shop.orders").Len(); n != table.Len()+1 {
		t.Errorf("%d chunks, before %d", n, table.Len())
	}
}

// A restore while chunks move: in parallel, as mongorestore inserts, with
// everything that it sends. Nothing is lost, and a dump finds each document once.
func TestRestoreWhileChunksMove(t *testing.T) {
	const workers, batches, perBatch = 4, 12, 25
	x := routertest.New(t, mock.Config{})
	x.OK("admin", d("enableSharding", "app", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "app.copy", "key", d("k", 1)))
	for at := 200; at < workers*batches*perBatch; at += 200 {
		x.OK("admin", d("split", "app.copy", "middle", d("k", at)))
	}
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for b := range batches {
				var docs bson.A
				for i := range perBatch {
					id := (b*workers+w)*perBatch + i
					docs = append(docs, d("_id", id, "k", id, "t", bson.Timestamp{}))
				}
				reply := x.Run("app", d("insert", "copy", "ordered", false, "bypassEmptyTsReplacement", true,
					"bypassDocumentValidation", false, "writeConcern", d("w", "majority"), "documents", docs))
				if n, _ := reply.Lookup("n").AsInt64OK(); n != perBatch {
					t.Errorf("inserted %d: %s", n, reply)
				}
			}
		})
	}
	running.Go(func() {
		for round := range 12 {
			x.Run("admin", d("moveRange", "app.copy", "min", d("k", 200*(1+round%5)), "toShard", "shard"+strconv.Itoa(round%3)))
		}
	})
	running.Wait()
	seen := map[int32]bool{}
	note := func(batch bson.RawValue) {
		values, err := batch.Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			doc := v.Document()
			at, i, _ := doc.Lookup("t").TimestampOK()
			if id := doc.Lookup("_id").Int32(); seen[id] || at != 0 || i != 0 {
				t.Errorf("%s comes twice, or stamped", doc)
			} else {
				seen[id] = true
			}
		}
	}
	reply := x.OK("app", d("find", "copy", "hint", d("_id", 1), "noCursorTimeout", true, "batchSize", 100))
	note(reply.Lookup("cursor", "firstBatch"))
	for id := reply.Lookup("cursor", "id").Int64(); id != 0; {
		x.Run("admin", d("moveRange", "app.copy", "min", d("k", 400), "toShard", "shard"+strconv.Itoa(len(seen)%3)))
		reply = x.OK("app", d("getMore", id, "collection", "copy", "batchSize", 100))
		note(reply.Lookup("cursor", "nextBatch"))
		id = reply.Lookup("cursor", "id").Int64()
	}
	if len(seen) != workers*batches*perBatch {
		t.Errorf("%d documents of %d", len(seen), workers*batches*perBatch)
	}
}
