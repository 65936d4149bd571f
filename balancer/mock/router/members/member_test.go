package members_test

import (
	"strconv"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// A shard shows what it holds, orphans included; the router never does.
func TestShardsShowTheirOwnDocuments(t *testing.T) {
	c, err := mock.New(mock.Config{Topology: mock.DefaultTopology(2)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	front := &tester{T: t, Router: router.New(c, nil), Cluster: c}
	front.OK("admin", d("enableSharding", "app", "primaryShard", "shard0"))
	front.OK("admin", d("shardCollection", "app.orders", "key", d("k", 1)))
	front.OK("admin", d("split", "app.orders", "middle", d("k", 5)))
	var docs bson.A
	for k := range 10 {
		docs = append(docs, d("_id", k, "k", k))
	}
	front.OK("app", d("insert", "orders", "documents", docs))
	front.OK("admin", d("moveRange", "app.orders", "min", d("k", 5), "toShard", "shard1"))
	shard := func(id string) *tester {
		member := router.Member{Shard: catalog.ShardID("shard" + id), Set: "rs" + id, Address: "127.0.0.1:2701" + id}
		return &tester{T: t, Router: member.NewNode(front.Router), Cluster: c}
	}
	count := func(x *tester, filter bson.D) int {
		t.Helper()
		values, err := x.OK("app", d("find", "orders", "filter", filter)).Lookup("cursor", "firstBatch").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		piped := x.OK("app", d("aggregate", "orders", "pipeline", bson.A{d("$match", filter), d("$count", "n")}, "cursor", d()))
		if n, _ := piped.Lookup("cursor", "firstBatch", "0", "n").AsInt64OK(); int(n) != len(values) {
			t.Errorf("find gives %d and aggregate %d", len(values), n)
		}
		return len(values)
	}
	for _, tt := range []struct {
		name string
		of   *tester
		all  int
		high int
	}{{"mongos", front, 10, 5}, {"shard0", shard("0"), 10, 5}, {"shard1", shard("1"), 5, 5}} {
		if all, high := count(tt.of, d()), count(tt.of, d("k", d("$gte", 5))); all != tt.all || high != tt.high {
			t.Errorf("%s: %d documents and %d of them high, want %d and %d", tt.name, all, high, tt.all, tt.high)
		}
	}
	donor := shard("0")
	if n := donor.OK("app", d("count", "orders")).Lookup("n").Int32(); n != 10 {
		t.Errorf("count of the donor is %d", n)
	}
	if id := donor.OK("app", d("find", "orders", "filter", d("_id", 7))).Lookup("cursor", "firstBatch", "0", "_id"); id.Int32() != 7 {
		t.Errorf("an orphan by its _id: %s", id)
	}
	hello := donor.OK("admin", d("hello", 1))
	if hello.Lookup("setName").StringValue() != "rs0" || !hello.Lookup("isWritablePrimary").Boolean() || !hello.Lookup("msg").IsZero() {
		t.Errorf("hello of a shard: %s", hello)
	}
	status := donor.OK("admin", d("serverStatus", 1))
	if n := status.Lookup("shardingStatistics", "rangeDeleterTasks").Int32(); n != 1 || status.Lookup("process").StringValue() != "mongod" {
		t.Errorf("status of a shard: %s", status)
	}
	if name := donor.OK("app", d("listCollections", 1)).Lookup("cursor", "firstBatch", "0", "name").StringValue(); name != "orders" {
		t.Errorf("its collection is %q", name)
	}
	for i, want := range []string{"admin", "app", "config", "local"} {
		if name := donor.OK("admin", d("listDatabases", 1)).Lookup("databases", strconv.Itoa(i), "name").StringValue(); name != want {
			t.Errorf("its database %d is %q, want %s", i, name, want)
		}
	}
	x := donor.OK("app", d("listIndexes", "orders")).Lookup("cursor", "firstBatch")
	if values, err := x.Array().Values(); err != nil || len(values) != 2 {
		t.Errorf("its indexes are %s", x)
	}
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("insert", "orders", "documents", bson.A{d("k", 1)}), 13},
		{d("drop", "orders"), 13},
		{d("createIndexes", "orders", "indexes", bson.A{}), 13},
		{d("balancerStatus", 1), 59},
		{d("listShards", 1), 59},
		{d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d())}, "cursor", d()), 238},
	} {
		if code := donor.Code("admin", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	config := &tester{T: t, Router: router.Member{Shard: catalog.ConfigServerID, Set: "cfg", Address: "127.0.0.1:27019"}.NewNode(front.Router), Cluster: c}
	for _, coll := range []string{"shards", "chunks"} {
		values, err := config.OK("config", d("find", coll)).Lookup("cursor", "firstBatch").Array().Values()
		if err != nil || len(values) != 2 {
			t.Errorf("the config server has %d %s", len(values), coll)
		}
	}
	if n := count(config, d()); n != 0 {
		t.Errorf("the config server has %d of the documents", n)
	}
	if values, _ := donor.OK("config", d("find", "shards")).Lookup("cursor", "firstBatch").Array().Values(); len(values) != 0 {
		t.Errorf("a shard has %d of the config server's documents", len(values))
	}
}

// rules/03-commands §1.7: cleanupOrphaned waits on a shard until nothing of the collection
// is to be deleted there.
func TestCleanupOrphanedWaits(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("a", 1), d("a", 2)}))
	x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 1), "to", "shardB"))
	member := router.Member{Shard: "shardA", Set: "rsA", Address: "a1:27018"}
	donor := &tester{T: t, Router: member.NewNode(x.Router), Cluster: x.Cluster}
	count := func() int32 { return donor.OK("shop", d("count", "orders")).Lookup("n").Int32() }
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("cleanupOrphaned", "shop"), 73},
		{d("cleanupOrphaned", 5), 14},
		{d("cleanupOrphaned", "shop.orders", "startingFromKey", d("b", 1)), 265},
		{d("cleanupOrphaned", "shop.orders", "maxTimeMS", 1000), 50},
	} {
		if code := donor.Code("admin", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	donor.OK("admin", d("cleanupOrphaned", "shop.users"))
	donor.OK("admin", d("cleanupOrphaned", "no.such"))
	if n := count(); n != 2 {
		t.Fatalf("%d orphans before", n)
	}
	donor.OK("admin", d("cleanupOrphaned", "shop.orders", "startingFromKey", d("a", 1), "writeConcern", d("w", 1)))
	if n := count(); n != 0 {
		t.Errorf("%d orphans after", n)
	}
}
