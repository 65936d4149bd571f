package router_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// lying is a cluster in which each shard can change without the others.
const lying = `{
	"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
	"settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "app", "primary": "a"}, {"name": "plain", "primary": "a"}],
	"collections": [{"ns": "app.c", "key": {"k": 1}, "chunks": [
		{"shard": "a", "max": {"k": 0}}, {"shard": "a", "max": {"k": 100}}, {"shard": "b", "max": {"k": 200}}, {"shard": "c"}]}]
}`

// pair is a cluster with two routers that both have asked for everything.
type pair struct {
	one, two *tester
}

func newPair(t *testing.T) pair {
	t.Helper()
	one := routertest.NewFromTopology(t, lying)
	other, err := one.Router.NewSibling("mock2:27017")
	if err != nil {
		t.Fatal(err)
	}
	p := pair{one, &tester{T: t, Router: other, Cluster: one.Cluster}}
	for i := range 3 {
		p.one.OK("app", d("insert", "c", "documents", bson.A{d("_id", i, "k", i*100+50)}))
	}
	p.one.OK("plain", d("insert", "c", "documents", bson.A{d("_id", 1)}))
	for _, r := range []*tester{p.one, p.two} {
		r.OK("app", d("find", "c"))
		r.OK("plain", d("find", "c"))
	}
	return p
}

func versionOf(x *tester, t *testing.T) string {
	t.Helper()
	major, minor, ok := x.OK("admin", d("getShardVersion", "app.c")).Lookup("version").TimestampOK()
	if !ok {
		t.Fatal("no version")
	}
	return fmt.Sprintf("%d|%d", major, minor)
}

func foundBy(x *tester, level string, filter bson.D) string {
	text := ""
	reply := x.OK("app", d("find", "c", "filter", filter, "readConcern", d("level", level)))
	values, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	for _, v := range values {
		text += fmt.Sprint(v.Document().Lookup("_id").AsInt64())
	}
	return text
}

// cachedVersion returns a counter of the router's knowledge.
func cachedVersion(x *tester, name string) int64 {
	return x.OK("admin", d("serverStatus", 1)).Lookup("shardingStatistics", "catalogCache", name).Int64()
}

// What a router knows, and when it learns: the requests that shards refuse are those to
// shards whose major version or incarnation is another one.
func TestARouterLearnsWhenItIsRefused(t *testing.T) {
	move := func(p pair) {
		p.one.OK("admin", d("moveRange", "app.c", "min", d("k", 0), "max", d("k", 100), "toShard", "c"))
	}
	recreate := func(p pair) {
		p.one.OK("app", d("drop", "c"))
		p.one.OK("admin", d("shardCollection", "app.c", "key", d("k", 1)))
		p.one.OK("app", d("insert", "c", "documents", bson.A{d("_id", 9, "k", 150)}))
	}
	for _, tt := range []struct {
		name    string
		change  func(pair)
		request func(*tester)
		stale   int64 // refusals
		learns  bool
	}{
		{"nothing has changed", func(pair) {}, func(r *tester) { foundBy(r, "local", d()) }, 0, false},
		{"the shard that gave", move, func(r *tester) { foundBy(r, "local", d("k", 50)) }, 1, true},
		{"the shard that received", move, func(r *tester) { foundBy(r, "local", d("k", 250)) }, 1, true},
		{"a shard that took no part", move, func(r *tester) { foundBy(r, "local", d("k", 150)) }, 0, false},
		{"all shards", move, func(r *tester) { foundBy(r, "local", d()) }, 1, true},
		{"nobody checks", move, func(r *tester) { foundBy(r, "available", d()) }, 0, false},
		{"an insert", move, func(r *tester) {
			r.OK("app", d("insert", "c", "documents", bson.A{d("_id", 7, "k", 60), d("_id", 8, "k", 61)}))
		}, 1, true},
		{"an insert elsewhere", move, func(r *tester) {
			r.OK("app", d("insert", "c", "documents", bson.A{d("_id", 7, "k", 160)}))
		}, 0, false},
		{"an update of one", move, func(r *tester) {
			r.OK("app", d("update", "c", "updates", bson.A{d("q", d("k", 50), "u", d("$set", d("x", 1)))}))
		}, 1, true},
		{"a delete of many on all shards", move, func(r *tester) {
			r.OK("app", d("delete", "c", "deletes", bson.A{d("q", d(), "limit", 0)}))
		}, 0, false},
		{"an update of many on all shards", move, func(r *tester) {
			r.OK("app", d("update", "c", "updates", bson.A{d("q", d(), "u", d("$set", d("x", 1)), "multi", true)}))
		}, 0, false},
		{"an update of many on two shards", move, func(r *tester) {
			r.OK("app", d("update", "c", "updates", bson.A{
				d("q", d("k", d("$gte", 50, "$lt", 150)), "u", d("$set", d("x", 1)), "multi", true)}))
		}, 0, false},
		{"a delete of many on one shard", move, func(r *tester) {
			r.OK("app", d("delete", "c", "deletes", bson.A{d("q", d("k", 50), "limit", 0)}))
		}, 1, true},
		{"count", move, func(r *tester) { r.OK("app", d("count", "c")) }, 1, true},
		{"aggregate", move, func(r *tester) { r.OK("app", d("aggregate", "c", "pipeline", bson.A{}, "cursor", d())) }, 1, true},
		{"a split", func(p pair) { p.one.OK("admin", d("split", "app.c", "middle", d("k", 250))) },
			func(r *tester) { foundBy(r, "local", d()) }, 0, false},
		{"a new collection of that name", recreate, func(r *tester) { foundBy(r, "local", d("k", 150)) }, 1, true},
		{"a finer key", func(p pair) {
			p.one.OK("app", d("createIndexes", "c", "indexes", bson.A{d("key", d("k", 1, "_id", 1), "name", "n")}))
			p.one.OK("admin", d("refineCollectionShardKey", "app.c", "key", d("k", 1, "_id", 1)))
		}, func(r *tester) { foundBy(r, "local", d("k", 150)) }, 1, true},
		{"flushRouterConfig", move, func(r *tester) { r.OK("admin", d("flushRouterConfig", 1)) }, 0, true},
		{"flushRouterConfig of the collection", move, func(r *tester) { r.OK("admin", d("flushRouterConfig", "app.c")) }, 0, true},
		{"flushRouterConfig of the database", move, func(r *tester) { r.OK("admin", d("flushRouterConfig", "app")) }, 0, true},
		{"flushRouterConfig of another", move, func(r *tester) { r.OK("admin", d("flushRouterConfig", "app.d")) }, 0, false},
		{"a command that reads it again", move, func(r *tester) { r.OK("admin", d("split", "app.c", "middle", d("k", 170))) }, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t)
			was := versionOf(p.two, t)
			tt.change(p)
			if v := versionOf(p.two, t); v != was {
				t.Errorf("it knows version %s before it has sent anything, and %s before that", v, was)
			}
			before := cachedVersion(p.two, "countStaleConfigErrors")
			tt.request(p.two)
			if n := cachedVersion(p.two, "countStaleConfigErrors") - before; n != tt.stale {
				t.Errorf("%d refusals", n)
			}
			p.one.OK("admin", d("flushRouterConfig", 1))
			if v, newest := versionOf(p.two, t), versionOf(p.one, t); tt.learns != (v == newest) && was != newest {
				t.Errorf("it knows version %s of %s", v, newest)
			}
		})
	}
}

// With the read concern "available" a router sends what it is asked to the shards it
// thinks of, and gets what they have: orphans, documents twice, and none where they are
// deleted. Every other level shows each document once.
func TestAvailableReads(t *testing.T) {
	p := newPair(t)
	p.one.OK("admin", d("moveRange", "app.c", "min", d("k", 0), "max", d("k", 100), "toShard", "c"))
	p.one.OK("app", d("update", "c", "updates", bson.A{d("q", d("k", 50), "u", d("$set", d("new", true)))}))
	for _, tt := range []struct {
		what, got, want string
	}{
		{"an orphan of the shard that the router thinks of", foundBy(p.two, "available", d("k", 50)), "0"},
		{"as it was", foundBy(p.two, "available", d("k", 50, "new", true)), ""},
		{"the owner, of which the other one knows", foundBy(p.one, "available", d("k", 50, "new", true)), "0"},
		{"all shards: what two have", foundBy(p.two, "available", d()), "0120"},
		{"local", foundBy(p.two, "local", d()), "120"},
		{"and then it knows", foundBy(p.two, "available", d("k", 50, "new", true)), "0"},
		{"all shards are asked all the same", foundBy(p.two, "available", d("k", d("$gte", 0))), "102"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	q := newPair(t)
	q.one.OK("admin", d("moveRange", "app.c", "min", d("k", 0), "max", d("k", 100), "toShard", "c", "waitForDelete", true))
	if got := foundBy(q.two, "available", d("k", 50)); got != "" {
		t.Errorf("after the deletion: %q", got)
	}
	if got := foundBy(q.two, "majority", d("k", 50)); got != "0" {
		t.Errorf("majority: %q", got)
	}
}

// A router goes on with the database's primary that it knows until it sends something
// there. That is not a refusal of the kind that is counted.
func TestARouterLearnsOfAnotherPrimary(t *testing.T) {
	p := newPair(t)
	p.one.OK("admin", d("movePrimary", "plain", "to", "b"))
	primary := func() string {
		return p.two.OK("admin", d("getDatabaseVersion", "plain")).Lookup("primaryShard").StringValue()
	}
	if got := primary(); got != "a" {
		t.Errorf("before: %s", got)
	}
	before := cachedVersion(p.two, "countStaleConfigErrors")
	if n := p.two.OK("plain", d("count", "c")).Lookup("n").AsInt64(); n != 1 {
		t.Errorf("%d documents", n)
	}
	if got := primary(); got != "b" || cachedVersion(p.two, "countStaleConfigErrors") != before {
		t.Errorf("afterwards: %s", got)
	}
	p.one.OK("admin", d("shardCollection", "plain.c", "key", d("_id", 1)))
	p.two.OK("plain", d("insert", "c", "documents", bson.A{d("_id", 2)}))
	if n := cachedVersion(p.two, "countStaleConfigErrors") - before; n != 1 {
		t.Errorf("%d refusals of a collection that has been sharded", n)
	}
}

// Cursors, counters and parameters are a router's own; sessions and users are not.
func TestRoutersKeepTheirOwn(t *testing.T) {
	p := newPair(t)
	cursor := p.one.OK("app", d("find", "c", "batchSize", 1)).Lookup("cursor", "id").Int64()
	if code := p.two.Code("app", d("getMore", cursor, "collection", "c")); code != 43 {
		t.Errorf("a cursor of another router: %d", code)
	}
	p.one.OK("app", d("getMore", cursor, "collection", "c"))
	again := d("insert", "c", "documents", bson.A{d("_id", 50, "k", 1)}, "lsid", d("id", bson.Binary{Subtype: 4, Data: make([]byte, 16)}),
		"txnNumber", int64(1))
	p.one.OK("app", again)
	if reply := p.two.OK("app", again); reply.Lookup("retriedStmtIds").IsZero() || !reply.Lookup("writeErrors").IsZero() {
		t.Errorf("the write was done again: %s", reply)
	}
	if n := p.two.OK("config", d("count", "mongos")).Lookup("n").AsInt64(); n != 2 {
		t.Errorf("%d routers in config.mongos", n)
	}
	p.one.OK("admin", d("mockPartition", bson.A{"router2", "b"}))
	if code := p.two.Code("app", d("find", "c", "filter", d("k", 150))); code != 6 {
		t.Errorf("past a partition: %d", code)
	}
	p.one.OK("app", d("find", "c", "filter", d("k", 150)))
}

// A router has a clock of its own, and the cluster time of all.
func TestRouterClockAhead(t *testing.T) {
	p := newPair(t)
	p.one.OK("admin", d("mockSlow", "router2", "ahead", "90s"))
	clocks := func(x *tester) (now time.Time, cluster uint32) {
		doc := x.OK("app", d("findAndModify", "c", "query", d("_id", 0), "new", true,
			"update", bson.A{d("$set", d("now", "$$NOW", "at", "$$CLUSTER_TIME"))})).Lookup("value").Document()
		cluster, _ = doc.Lookup("at").Timestamp()
		return doc.Lookup("now").Time(), cluster
	}
	now, at := clocks(p.one)
	later, atLater := clocks(p.two)
	if ahead := later.Sub(now); ahead < 90*time.Second || ahead > 92*time.Second || atLater-at > 1 {
		t.Errorf("ahead by %v, cluster times %d and %d", ahead, at, atLater)
	}
	local := func(x *tester) time.Time { return x.OK("admin", d("hello", 1)).Lookup("localTime").Time() }
	if ahead := local(p.two).Sub(local(p.one)); ahead < 89*time.Second {
		t.Errorf("hello is ahead by %v", ahead)
	}
	if ahead := p.one.OK("admin", d("mockStatus", 1)).Lookup("slow", "router2", "aheadMillis").AsInt64(); ahead != 90_000 {
		t.Errorf("the status has it ahead by %d ms", ahead)
	}
	p.one.OK("admin", d("mockHeal", 1))
	if ahead := local(p.two).Sub(local(p.one)); ahead > time.Second {
		t.Errorf("after it is set, hello is ahead by %v", ahead)
	}
	if code := p.one.Code("admin", d("mockSlow", "b", "ahead", "90s")); code != 2 {
		t.Errorf("the clock of a shard: %d", code)
	}
	if code := p.two.Code("app", d("find", "c", "let", d("NOW", 1))); code != 9 {
		t.Errorf("a variable of that name: %d", code)
	}
}

// The address that a client dials says which of several routers answers.
func TestSeveralRouters(t *testing.T) {
	x := routertest.NewFromTopology(t, lying)
	rs, err := router.NewRouters(x.Router, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rs.Names()); got != "[mock:27017 mock2:27017 mock3:27017]" {
		t.Error(got)
	}
	if got := x.OK("admin", d("mockStatus", 1)).Lookup("routers").String(); got != `["mock:27017","mock2:27017","mock3:27017"]` {
		t.Error(got)
	}
}
