package servers_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/wire"
)

// The counters of serverStatus move with the work.
func TestServerStatusCounts(t *testing.T) {
	x := routertest.NewS0(t)
	counters := func() bson.Raw { return x.OK("admin", d("serverStatus", 1)) }
	before := counters()
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("a", -5), d("a", 5), d("a", 500)}))
	x.OK("shop", d("insert", "users", "documents", bson.A{d("x", 1)}))
	x.OK("shop", d("find", "orders", "filter", d("a", 5)))
	x.OK("shop", d("find", "orders", "batchSize", 1))
	x.OK("shop", d("find", "users"))
	x.OK("shop", d("update", "orders", "updates", bson.A{d("q", d("a", 5), "u", d("$set", d("b", 1))), d("q", d("a", -5), "u", d("$set", d("b", 1)))}))
	x.OK("shop", d("delete", "orders", "deletes", bson.A{d("q", d("a", 500), "limit", 1)}))
	x.OK("shop", d("aggregate", "orders", "pipeline", bson.A{}, "cursor", d()))
	x.Code("admin", d("moveRange", "shop.orders", "min", d("a", 50), "max", d("a", 150), "toShard", "shardC"))
	after := counters()
	for _, tt := range []struct {
		path  []string
		moved int64
	}{
		{[]string{"opcounters", "insert"}, 4},
		{[]string{"opcounters", "query"}, 3},
		{[]string{"opcounters", "update"}, 2},
		{[]string{"opcounters", "delete"}, 1},
		{[]string{"opcounters", "command"}, 3},
		{[]string{"asserts", "user"}, 1},
		{[]string{"network", "numRequests"}, 10},
		{[]string{"shardingStatistics", "numHostsTargeted", "find", "oneShard"}, 1},
		{[]string{"shardingStatistics", "numHostsTargeted", "find", "allShards"}, 1},
		{[]string{"shardingStatistics", "numHostsTargeted", "find", "unsharded"}, 1},
		{[]string{"shardingStatistics", "numHostsTargeted", "insert", "unsharded"}, 1},
		{[]string{"shardingStatistics", "numHostsTargeted", "update", "oneShard"}, 1},
		{[]string{"shardingStatistics", "numHostsTargeted", "aggregate", "allShards"}, 1},
		{[]string{"shardingStatistics", "catalogCache", "countStaleConfigErrors"}, 10},
	} {
		if got := after.Lookup(tt.path...).AsInt64() - before.Lookup(tt.path...).AsInt64(); got != tt.moved {
			t.Errorf("%v moved by %d, want %d", tt.path, got, tt.moved)
		}
	}
	if n := after.Lookup("shardingStatistics", "catalogCache", "numCollectionEntries").Int64(); n != 3 {
		t.Errorf("%d collections, want the two it was asked for, and the buckets of one", n)
	}
}

func TestServerStatusSections(t *testing.T) {
	x := routertest.NewS0(t)
	without := x.OK("admin", d("serverStatus", 1, "opcounters", 0))
	if !without.Lookup("opcounters").IsZero() || without.Lookup("mem").IsZero() {
		t.Errorf("without opcounters: %s", without)
	}
	only := x.OK("shop", d("serverStatus", 1, "none", 1, "opcounters", 1))
	if only.Lookup("opcounters").IsZero() || !only.Lookup("mem").IsZero() || only.Lookup("host").IsZero() {
		t.Errorf("opcounters alone: %s", only)
	}
}

// Connections count from their first command to their end.
func TestServerStatusConnections(t *testing.T) {
	x := routertest.NewS0(t)
	body, err := bson.Marshal(d("ping", 1))
	if err != nil {
		t.Fatal(err)
	}
	open := func() int32 { return x.OK("admin", d("serverStatus", 1)).Lookup("connections", "totalCreated").Int32() }
	before := open()
	client := &wire.ClientConn{ID: 77, Remote: "there:1"}
	for range 2 {
		x.Router.Handle(t.Context(), wire.Request{Database: "admin", Command: "ping", Body: body, Client: client})
	}
	if n := open() - before; n != 2 { // each status of the test comes on a connection of its own
		t.Errorf("%d connections more, want 2", n)
	}
	current := func() int32 { return x.OK("admin", d("serverStatus", 1)).Lookup("connections", "current").Int32() }
	was := current()
	x.Router.Leave(client)
	if n := current() - was; n != 0 { // one gone, one of this status
		t.Errorf("%d connections more after one left", n)
	}
}

// The mongos tells every ten seconds that it is alive, so that sh.status()
// counts it as active.
func TestMongosPings(t *testing.T) {
	x := routertest.NewS0(t)
	x.Sleep(time.Hour)
	doc := x.OK("config", d("find", "mongos")).Lookup("cursor", "firstBatch", "0").Document()
	x.Cluster.Lock()
	age := x.Cluster.Now().Sub(doc.Lookup("ping").Time())
	x.Cluster.Unlock()
	if age > 11*time.Second || doc.Lookup("up").Int64() < 3590 {
		t.Errorf("%s old: %s", age, doc)
	}
}

// Routers count by shard what they sent there, and what a shard with too much to do refused. The names
// are those of the server's shard_shared_state_cache.cpp.
func TestOverloadIsCountedByShard(t *testing.T) {
	const names = "numOperationsAttempted numOperationsRetriedAtLeastOnceDueToOverload " +
		"numOperationsRetriedAtLeastOnceDueToOverloadAndSucceeded numRetriesDueToOverloadAttempted " +
		"numRetriesRetargetedDueToOverload numOverloadErrorsReceived totalBackoffTimeMillis retryBudgetTokenBucketBalance"
	for version, has := range map[string]bool{"8.0.10": false, "8.0.19": false, "8.0.20": true, "8.1": false, "8.2.5": true, "9.0": true} {
		release, err := catalog.ParseRelease(version)
		if err != nil {
			t.Fatal(err)
		}
		topology, err := mock.ParseTopology([]byte(routertest.StateS0))
		if err != nil {
			t.Fatal(err)
		}
		x := routertest.New(t, mock.Config{Topology: topology, Release: release})
		shards := func() bson.Raw {
			doc, _ := x.OK("admin", d("serverStatus", 1)).Lookup("shardingStatistics", "shards").DocumentOK()
			return doc
		}
		before := shards()
		if (before != nil) != has {
			t.Errorf("%s: %s", version, before)
		}
		if !has {
			continue
		}
		labels := bson.A{"SystemOverloadedError", "RetryableError"}
		x.OK("admin", d("mockFailNext", "find", "shard", "shardA", "code", 462, "errorLabels", labels, "times", 2))
		for range 2 {
			if code := x.Code("shop", d("find", "orders")); code != 462 {
				t.Errorf("%s: code %d", version, code)
			}
		}
		x.OK("shop", d("find", "orders"))
		x.OK("admin", d("mockFailNext", "find", "shard", "shardA", "code", 6)) // another failure
		x.Code("shop", d("find", "orders"))
		after := shards()
		elems, err := after.Lookup("shardA").Document().Elements()
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, e := range elems {
			have = append(have, e.Key())
		}
		if got := strings.Join(have, " "); got != names {
			t.Errorf("%s has %s", version, got)
		}
		more := func(name string) int64 {
			return after.Lookup("shardA", name).Int64() - before.Lookup("shardA", name).Int64()
		}
		if refused, sent := more("numOverloadErrorsReceived"), more("numOperationsAttempted"); refused != 2 || sent != 4 {
			t.Errorf("%s: %d refused of %d", version, refused, sent)
		}
		if n := after.Lookup("shardB", "numOverloadErrorsReceived").Int64(); n != 0 {
			t.Errorf("%s: %d refused by the other shard", version, n)
		}
	}
}
