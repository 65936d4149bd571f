package sharding_test

import (
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// rules/03-commands §1.8.
func TestSplitVector(t *testing.T) {
	x := routertest.NewS0(t)
	var docs bson.A
	for i := range 3000 {
		docs = append(docs, d("a", i%100, "pad", strings.Repeat("x", 1000)))
	}
	x.OK("shop", d("insert", "orders", "documents", docs))
	vector := func(more ...any) bson.D {
		return append(d("splitVector", "shop.orders", "keyPattern", d("a", 1)), d(more...)...)
	}
	points := func(command bson.D) int {
		values, err := x.OK("shop", command).Lookup("splitKeys").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		return len(values)
	}
	bounds := []any{"min", d("a", 0), "max", d("a", 100)}
	if n := points(vector(append(bounds, "maxChunkSize", 1)...)); n != 5 { // 3000 keys in pieces of more than 503
		t.Errorf("%d points", n)
	}
	if n := points(vector(append(bounds, "maxChunkSize", 64)...)); n != 0 {
		t.Errorf("%d points of what is small enough", n)
	}
	median := x.OK("shop", vector(append(bounds, "force", true)...)).Lookup("splitKeys", "0", "a").Int32()
	if median != 50 {
		t.Errorf("the median is %d", median)
	}
	x.CheckRefusals("shop", []routertest.Refusal{
		{d("splitVector", "logs.raw", "keyPattern", d("k", 1), "maxChunkSize", 1), 20},
		{d("splitVector", "shop.orders", "maxChunkSize", 1), 8},
		{vector("min", d("a", 0), "maxChunkSize", 1), 8},
		{vector(bounds...), 72},
		{vector(append(bounds, "maxChunkSize", 2000)...), 72},
		{vector(append(bounds, "maxChunkSizeBytes", math.NaN())...), 72},
		{vector(append(bounds, "maxChunkSize", 1, "maxChunkObjects", math.NaN())...), 72},
		{vector(append(bounds, "maxChunkSize", 1, "maxChunkObjects", 0)...), 72},
		{vector("min", d("a", 50), "max", d("a", 150), "maxChunkSize", 1), 72},
		{d("splitVector", "shop.nope", "keyPattern", d("k", 1), "maxChunkSize", 1), 26},
		{d("splitVector", "shop.orders", "keyPattern", d("zz", 1), "maxChunkSize", 1), 27},
	})
}

// Routers up to 5.0 ask no shard about a sharded collection; of others they ask.
func TestSplitVectorOfOldRouters(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release50, catalog.Release60} {
		x := routertest.New(t, mock.Config{Topology: mock.DefaultTopology(2), Release: release})
		x.OK("admin", d("enableSharding", "shop", "primaryShard", "shard0"))
		x.OK("admin", d("shardCollection", "shop.orders", "key", d("a", 1)))
		x.OK("shop", d("insert", "plain", "documents", bson.A{d("a", 1), d("a", 2)}))
		x.OK("shop", d("createIndexes", "plain", "indexes", bson.A{d("key", d("a", 1), "name", "a_1")}))
		x.OK("shop", d("splitVector", "shop.plain", "keyPattern", d("a", 1), "force", true))
		vector := d("splitVector", "shop.orders", "keyPattern", d("a", 1), "maxChunkSize", 1)
		if release.ShowsSplitPoints() {
			x.OK("shop", vector)
		} else {
			x.CheckRefusals("shop", []routertest.Refusal{{vector, 20}})
		}
	}
}
