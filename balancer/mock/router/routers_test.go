package router_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router"
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
	one := described(t, lying)
	other, err := one.router.Beside("mock2:27017")
	if err != nil {
		t.Fatal(err)
	}
	p := pair{one, &tester{t: t, router: other, cluster: one.cluster}}
	for i := range 3 {
		p.one.ok("app", d("insert", "c", "documents", bson.A{d("_id", i, "k", i*100+50)}))
	}
	p.one.ok("plain", d("insert", "c", "documents", bson.A{d("_id", 1)}))
	for _, r := range []*tester{p.one, p.two} {
		r.ok("app", d("find", "c"))
		r.ok("plain", d("find", "c"))
	}
	return p
}

func (x *tester) version(t *testing.T) string {
	t.Helper()
	major, minor, ok := x.ok("admin", d("getShardVersion", "app.c")).Lookup("version").TimestampOK()
	if !ok {
		t.Fatal("no version")
	}
	return fmt.Sprintf("%d|%d", major, minor)
}

func (x *tester) found(level string, filter bson.D) string {
	text := ""
	reply := x.ok("app", d("find", "c", "filter", filter, "readConcern", d("level", level)))
	values, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	for _, v := range values {
		text += fmt.Sprint(v.Document().Lookup("_id").AsInt64())
	}
	return text
}

// cached returns a counter of the router's knowledge.
func (x *tester) cached(name string) int64 {
	return x.ok("admin", d("serverStatus", 1)).Lookup("shardingStatistics", "catalogCache", name).Int64()
}

// What a router knows, and when it learns: the requests that shards refuse are those to
// shards whose major version or incarnation is another one.
func TestARouterLearnsWhenItIsRefused(t *testing.T) {
	move := func(p pair) {
		p.one.ok("admin", d("moveRange", "app.c", "min", d("k", 0), "max", d("k", 100), "toShard", "c"))
	}
	recreate := func(p pair) {
		p.one.ok("app", d("drop", "c"))
		p.one.ok("admin", d("shardCollection", "app.c", "key", d("k", 1)))
		p.one.ok("app", d("insert", "c", "documents", bson.A{d("_id", 9, "k", 150)}))
	}
	for _, tt := range []struct {
		name    string
		change  func(pair)
		request func(*tester)
		stale   int64 // refusals
		learns  bool
	}{
		{"nothing has changed", func(pair) {}, func(r *tester) { r.found("local", d()) }, 0, false},
		{"the shard that gave", move, func(r *tester) { r.found("local", d("k", 50)) }, 1, true},
		{"the shard that received", move, func(r *tester) { r.found("local", d("k", 250)) }, 1, true},
		{"a shard that took no part", move, func(r *tester) { r.found("local", d("k", 150)) }, 0, false},
		{"all shards", move, func(r *tester) { r.found("local", d()) }, 1, true},
		{"nobody checks", move, func(r *tester) { r.found("available", d()) }, 0, false},
		{"an insert", move, func(r *tester) {
			r.ok("app", d("insert", "c", "documents", bson.A{d("_id", 7, "k", 60), d("_id", 8, "k", 61)}))
		}, 1, true},
		{"an insert elsewhere", move, func(r *tester) {
			r.ok("app", d("insert", "c", "documents", bson.A{d("_id", 7, "k", 160)}))
		}, 0, false},
		{"an update of one", move, func(r *tester) {
			r.ok("app", d("update", "c", "updates", bson.A{d("q", d("k", 50), "u", d("$set", d("x", 1)))}))
		}, 1, true},
		{"a delete of many on all shards", move, func(r *tester) {
			r.ok("app", d("delete", "c", "deletes", bson.A{d("q", d(), "limit", 0)}))
		}, 0, false},
		{"a delete of many on one shard", move, func(r *tester) {
			r.ok("app", d("delete", "c", "deletes", bson.A{d("q", d("k", 50), "limit", 0)}))
		}, 1, true},
		{"count", move, func(r *tester) { r.ok("app", d("count", "c")) }, 1, true},
		{"aggregate", move, func(r *tester) { r.ok("app", d("aggregate", "c", "pipeline", bson.A{}, "cursor", d())) }, 1, true},
		{"a split", func(p pair) { p.one.ok("admin", d("split", "app.c", "middle", d("k", 250))) },
			func(r *tester) { r.found("local", d()) }, 0, false},
		{"a new collection of that name", recreate, func(r *tester) { r.found("local", d("k", 150)) }, 1, true},
		{"a finer key", func(p pair) {
			p.one.ok("app", d("createIndexes", "c", "indexes", bson.A{d("key", d("k", 1, "_id", 1), "name", "n")}))
			p.one.ok("admin", d("refineCollectionShardKey", "app.c", "key", d("k", 1, "_id", 1)))
		}, func(r *tester) { r.found("local", d("k", 150)) }, 1, true},
		{"flushRouterConfig", move, func(r *tester) { r.ok("admin", d("flushRouterConfig", 1)) }, 0, true},
		{"flushRouterConfig of the collection", move, func(r *tester) { r.ok("admin", d("flushRouterConfig", "app.c")) }, 0, true},
		{"flushRouterConfig of the database", move, func(r *tester) { r.ok("admin", d("flushRouterConfig", "app")) }, 0, true},
		{"flushRouterConfig of another", move, func(r *tester) { r.ok("admin", d("flushRouterConfig", "app.d")) }, 0, false},
		{"a command that reads it again", move, func(r *tester) { r.ok("admin", d("split", "app.c", "middle", d("k", 170))) }, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t)
			was := p.two.version(t)
			tt.change(p)
			if v := p.two.version(t); v != was {
				t.Errorf("it knows version %s before it has sent anything, and %s before that", v, was)
			}
			before := p.two.cached("countStaleConfigErrors")
			tt.request(p.two)
			if n := p.two.cached("countStaleConfigErrors") - before; n != tt.stale {
				t.Errorf("%d refusals", n)
			}
			p.one.ok("admin", d("flushRouterConfig", 1))
			if v, newest := p.two.version(t), p.one.version(t); tt.learns != (v == newest) && was != newest {
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
	p.one.ok("admin", d("moveRange", "app.c", "min", d("k", 0), "max", d("k", 100), "toShard", "c"))
	p.one.ok("app", d("update", "c", "updates", bson.A{d("q", d("k", 50), "u", d("$set", d("new", true)))}))
	for _, tt := range []struct {
		what, got, want string
	}{
		{"an orphan of the shard that the router thinks of", p.two.found("available", d("k", 50)), "0"},
		{"as it was", p.two.found("available", d("k", 50, "new", true)), ""},
		{"the owner, of which the other one knows", p.one.found("available", d("k", 50, "new", true)), "0"},
		{"all shards: what two have", p.two.found("available", d()), "0120"},
		{"local", p.two.found("local", d()), "120"},
		{"and then it knows", p.two.found("available", d("k", 50, "new", true)), "0"},
		{"all shards are asked all the same", p.two.found("available", d("k", d("$gte", 0))), "102"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	q := newPair(t)
	q.one.ok("admin", d("moveRange", "app.c", "min", d("k", 0), "max", d("k", 100), "toShard", "c", "waitForDelete", true))
	if got := q.two.found("available", d("k", 50)); got != "" {
		t.Errorf("after the deletion: %q", got)
	}
	if got := q.two.found("majority", d("k", 50)); got != "0" {
		t.Errorf("majority: %q", got)
	}
}

// A router goes on with the database's primary that it knows until it sends something
// there. That is no refusal of the kind that is counted.
func TestARouterLearnsOfAnotherPrimary(t *testing.T) {
	p := newPair(t)
	p.one.ok("admin", d("movePrimary", "plain", "to", "b"))
	primary := func() string {
		return p.two.ok("admin", d("getDatabaseVersion", "plain")).Lookup("primaryShard").StringValue()
	}
	if got := primary(); got != "a" {
		t.Errorf("before: %s", got)
	}
	before := p.two.cached("countStaleConfigErrors")
	if n := p.two.ok("plain", d("count", "c")).Lookup("n").AsInt64(); n != 1 {
		t.Errorf("%d documents", n)
	}
	if got := primary(); got != "b" || p.two.cached("countStaleConfigErrors") != before {
		t.Errorf("afterwards: %s", got)
	}
	p.one.ok("admin", d("shardCollection", "plain.c", "key", d("_id", 1)))
	p.two.ok("plain", d("insert", "c", "documents", bson.A{d("_id", 2)}))
	if n := p.two.cached("countStaleConfigErrors") - before; n != 1 {
		t.Errorf("%d refusals of a collection that has been sharded", n)
	}
}

// Cursors, counters and parameters are a router's own; sessions and users are not.
func TestRoutersKeepTheirOwn(t *testing.T) {
	p := newPair(t)
	cursor := p.one.ok("app", d("find", "c", "batchSize", 1)).Lookup("cursor", "id").Int64()
	if code := p.two.code("app", d("getMore", cursor, "collection", "c")); code != 43 {
		t.Errorf("a cursor of another router: %d", code)
	}
	p.one.ok("app", d("getMore", cursor, "collection", "c"))
	again := d("insert", "c", "documents", bson.A{d("_id", 50, "k", 1)}, "lsid", d("id", bson.Binary{Subtype: 4, Data: make([]byte, 16)}),
		"txnNumber", int64(1))
	p.one.ok("app", again)
	if reply := p.two.ok("app", again); reply.Lookup("retriedStmtIds").IsZero() || !reply.Lookup("writeErrors").IsZero() {
		t.Errorf("the write was done again: %s", reply)
	}
	if n := p.two.ok("config", d("count", "mongos")).Lookup("n").AsInt64(); n != 2 {
		t.Errorf("%d routers in config.mongos", n)
	}
	p.one.ok("admin", d("mockPartition", bson.A{"router2", "b"}))
	if code := p.two.code("app", d("find", "c", "filter", d("k", 150))); code != 6 {
		t.Errorf("past a partition: %d", code)
	}
	p.one.ok("app", d("find", "c", "filter", d("k", 150)))
}

// The address that a client dials says which of several routers answers.
func TestSeveralRouters(t *testing.T) {
	x := described(t, lying)
	rs, err := router.Several(x.router, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rs.Names()); got != "[mock:27017 mock2:27017 mock3:27017]" {
		t.Error(got)
	}
	if got := x.ok("admin", d("mockStatus", 1)).Lookup("routers").String(); got != `["mock:27017","mock2:27017","mock3:27017"]` {
		t.Error(got)
	}
}
