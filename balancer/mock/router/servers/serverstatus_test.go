package servers_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

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
	if n := after.Lookup("shardingStatistics", "catalogCache", "numCollectionEntries").Int64(); n != 2 {
		t.Errorf("%d collections, where the router was asked for two", n)
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
	client := &wire.Client{ID: 77, Remote: "there:1"}
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
