package routertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

// StateS0 is the state S0 of rules/03-helpers-examples-traps §7, except that the chunk versions begin at
// 1|0.
const StateS0 = `{
  "shards": [
    {"id": "shardA", "host": "rsA/a1:27018,a2:27018"},
    {"id": "shardB", "host": "rsB/b1:27018", "zones": ["EU"]},
    {"id": "shardC", "host": "rsC/c1:27018"}],
  "databases": [{"name": "shop", "primary": "shardA"}, {"name": "logs", "primary": "shardC"}],
  "collections": [
    {"ns": "shop.orders", "key": {"a": 1}, "chunks": [
      {"shard": "shardA", "max": {"a": 0}}, {"shard": "shardA", "max": {"a": 100}}, {"shard": "shardB"}]},
    {"ns": "shop.geo", "key": {"region": 1, "id": 1}, "chunks": [{"shard": "shardA"}]},
    {"ns": "logs.raw", "key": {"k": 1}, "chunks": [{"shard": "shardC"}]}]
}`

// NewS0 returns a router in front of StateS0, with the balancer off and ten documents in shop.users.
func NewS0(t *testing.T) *Tester {
	t.Helper()
	x := NewFromTopology(t, StateS0)
	x.OK("admin", D("balancerStop", 1))
	for i := range 10 {
		x.OK("shop", D("insert", "users", "documents", bson.A{D("_id", i)}))
	}
	return x
}

// ConfigText returns the config database as a string, without its logs.
func (t *Tester) ConfigText() string {
	text := ""
	for _, name := range []string{"collections", "chunks", "tags", "settings", "databases", "shards"} {
		text += fmt.Sprintln(t.OK("config", D("find", name, "batchSize", 1000)).Lookup("cursor"))
	}
	return text
}

// NewExplainState returns a router with the collection doc1.e, sharded by k. The documents with k from 0 to
// 9 are on shard0 and those from 10 to 19 on shard1. The collection has indexes on i (k modulo 5) and
// tags, and one orphan of each migrated chunk.
func NewExplainState(t *testing.T) *Tester {
	t.Helper()
	x := NewRecordedState(t)
	x.OK("admin", D("shardCollection", "doc1.e", "key", D("k", 1)))
	x.OK("doc1", D("createIndexes", "e", "indexes", bson.A{
		D("key", D("i", 1, "k", 1), "name", "i_1_k_1"), D("key", D("tags", 1), "name", "tags_1"),
	}))
	for k := range 20 {
		x.OK("doc1", D("insert", "e", "documents", bson.A{D("_id", k, "k", k, "i", k%5, "tags", bson.A{"a", k}, "n", k)}))
	}
	x.OK("admin", D("split", "doc1.e", "middle", D("k", 10)))
	x.OK("admin", D("moveChunk", "doc1.e", "find", D("k", 15), "to", "shard1"))
	return x
}

// StageNames returns the names of the stages of a plan, from the top.
func StageNames(plan bson.Raw) string {
	var names []string
	for plan != nil {
		names = append(names, plan.Lookup("stage").StringValue())
		plan, _ = plan.Lookup("inputStage").DocumentOK()
	}
	return strings.Join(names, " ")
}

// NewThreeShards returns a router of three shards and db.c, with one document on each shard: a is 0, 1 and 2.
func NewThreeShards(t *testing.T) *Tester {
	t.Helper()
	x := New(t, mock.Config{Topology: mock.DefaultTopology(3)})
	x.OK("admin", D("balancerStop", 1))
	x.OK("admin", D("enableSharding", "db", "primaryShard", "shard0"))
	x.OK("admin", D("shardCollection", "db.c", "key", D("a", 1)))
	for i, shard := range []string{"shard0", "shard1", "shard2"} {
		x.OK("db", D("insert", "c", "documents", bson.A{D("_id", i, "a", i)}))
		if i > 0 {
			x.OK("admin", D("moveRange", "db.c", "min", D("a", i), "max", D("a", i+1), "toShard", shard))
		}
	}
	return x
}

// NewRecordedState returns a router of the cluster on which the replies were recorded, with doc1.c,
// sharded by k, and the unsharded doc1.u.
func NewRecordedState(t *testing.T) *Tester {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(`{"shards": [
	  {"id": "shard0", "host": "rs0/127.0.0.1:27120"}, {"id": "shard1", "host": "rs1/127.0.0.1:27121"},
	  {"id": "shard2", "host": "rs2/127.0.0.1:27122"}],
	  "databases": [{"name": "doc1", "primary": "shard0"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := mock.New(mock.Config{
		Topology: topology, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), ConfigServer: "127.0.0.1:27119",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x := &Tester{T: t, Router: router.New(c, nil), Cluster: c}
	x.OK("admin", D("balancerStop", 1))
	x.OK("admin", D("shardCollection", "doc1.c", "key", D("k", 1)))
	for i := range 10 {
		x.OK("doc1", D("insert", "c", "documents", bson.A{D("_id", i, "k", i, "i", i, "pad", "some text")}))
	}
	x.OK("doc1", D("createIndexes", "c", "indexes", bson.A{D("key", D("i", 1), "name", "i_1")}))
	x.OK("doc1", D("insert", "u", "documents", bson.A{D("_id", 1, "z", 1)}))
	return x
}
