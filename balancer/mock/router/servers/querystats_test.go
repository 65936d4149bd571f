package servers_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// statsOf returns the entries of a collection.
func statsOf(x *tester, coll string) []bson.RawValue {
	x.T.Helper()
	reply := x.OK("admin", d("aggregate", 1, "pipeline", bson.A{d("$queryStats", d()), d("$match", d("key.queryShape.cmdNs.coll", coll))}, "cursor", d()))
	values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		x.T.Fatal(err)
	}
	return values
}

// Without being told to, routers count nothing up to 8.3, and one query in a hundred from 9.0 on.
func TestQueryStatsByRelease(t *testing.T) {
	for version, share := range map[string]int64{"8.0.10": 0, "8.0.20": 0, "8.2.6": 0, "8.3": 0, "9.0": 2} {
		release, err := catalog.ParseRelease(version)
		if err != nil {
			t.Fatal(err)
		}
		x := routertest.New(t, mock.Config{Release: release})
		x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 1), d("_id", 2), d("_id", 3)}))
		executions := func() (n int64) {
			for _, e := range statsOf(x, "c") {
				n += e.Document().Lookup("metrics", "execCount").Int64()
			}
			return n
		}
		for i := range 200 {
			x.OK("app", d("find", "c", "filter", d("_id", i)))
		}
		if got := executions(); got != share {
			t.Errorf("%s counts %d of 200 queries", version, got)
		}
		x.OK("admin", d("setParameter", 1, "internalQueryStatsRateLimit", -1))
		before := executions()
		first := x.OK("app", d("find", "c", "batchSize", 2))
		x.OK("app", d("getMore", first.Lookup("cursor", "id").Int64(), "collection", "c"))
		x.OK("app", d("distinct", "c", "key", "_id"))
		x.OK("app", d("aggregate", "c", "pipeline", bson.A{d("$match", d("_id", 1))}, "cursor", d()))
		x.Code("app", d("find", "c", "filter", d("$nope", 1))) // fails, and does not count
		entries := statsOf(x, "c")
		if got := executions() - before; got != 3 {
			t.Errorf("%s counts %d more, not 3: %s", version, got, entries)
		}
		for _, e := range entries {
			doc := e.Document()
			if doc.Lookup("key", "queryShape", "command").StringValue() != "find" || doc.Lookup("metrics", "execCount").Int64() != 1 ||
				doc.Lookup("key", "queryShape", "filter").Document().String() != "{}" {
				continue
			}
			path := []string{"metrics", "docsReturned", "sum"}
			if version == "9.0" {
				path = []string{"metrics", "queryExec", "docsReturned", "sum"}
			}
			if n, _ := doc.Lookup(path...).Int64OK(); n != 3 {
				t.Errorf("%s: a find with a cursor returned %d: %s", version, n, doc)
			}
		}
		for name, values := range map[string][]any{
			"internalQueryStatsRateLimit": {-2, "x"}, "internalQueryStatsSampleRate": {1.5, -0.1, "x"},
		} {
			for _, value := range values {
				if got := x.Code("admin", d("setParameter", 1, name, value)); got != 2 {
					t.Errorf("%s of %v answers %d", name, value, got)
				}
			}
		}
		x.OK("admin", d("setParameter", 1, "internalQueryStatsSampleRate", 0.5))
	}
}

// To see names takes another privilege than to see what stands for them.
func TestWhoMaySeeQueryStats(t *testing.T) {
	x := routertest.NewRoleTester(t)
	for _, c := range []struct {
		role string
		spec bson.D
		may  bool
	}{
		{"read", d(), false}, {"readWrite", d(), false}, {"clusterMonitor", d(), true}, {"root", d(), true},
		{"read", hidden(), false}, {"clusterMonitor", hidden(), true},
	} {
		reply := x.As(c.role, "admin", d("aggregate", 1, "pipeline", bson.A{d("$queryStats", c.spec)}, "cursor", d()))
		if routertest.IsUnauthorized(reply) == c.may {
			t.Errorf("%s with %v: %s", c.role, c.spec, reply)
		}
	}
	for action, sees := range map[string][2]bool{"queryStatsRead": {true, false}, "queryStatsReadTransformed": {false, true}} {
		x.As("root", "admin", d("createRole", action, "roles", bson.A{}, "privileges",
			bson.A{d("resource", d("cluster", true), "actions", bson.A{action})}))
		for i, spec := range []bson.D{d(), hidden()} {
			reply := x.As(action, "admin", d("aggregate", 1, "pipeline", bson.A{d("$queryStats", spec)}, "cursor", d()))
			if routertest.IsUnauthorized(reply) == sees[i] {
				t.Errorf("%s with %v: %s", action, spec, reply)
			}
		}
	}
}

func hidden() bson.D {
	return d("transformIdentifiers", d("algorithm", "hmac-sha-256", "hmacKey", bson.Binary{Subtype: 8, Data: []byte("key")}))
}

func TestQueryStatsWithHiddenNames(t *testing.T) {
	x := routertest.New(t, mock.Config{})
	x.OK("admin", d("setParameter", 1, "internalQueryStatsRateLimit", -1))
	x.OK("app", d("find", "people", "filter", d("name", "Ann")))
	reply := x.OK("admin", d("aggregate", 1, "pipeline", bson.A{
		d("$queryStats", hidden()),
		d("$match", d("key.queryShape.command", "find")),
	}, "cursor", d()))
	got := reply.Lookup("cursor", "firstBatch", "0", "key", "queryShape").Document()
	// HMAC-SHA-256 of app, people and name with that key: printf app | openssl dgst -sha256 -hmac key -binary | base64
	if db := got.Lookup("cmdNs", "db").StringValue(); db != appHidden {
		t.Errorf("the database is shown as %s", db)
	}
	if coll := got.Lookup("cmdNs", "coll").StringValue(); coll != peopleHidden {
		t.Errorf("the collection is shown as %s", coll)
	}
	if got.Lookup("filter", nameHidden, "$eq").StringValue() != "?string" {
		t.Errorf("the filter is shown as %s", got.Lookup("filter"))
	}
}

const (
	appHidden    = "UbQydBL/YLyG3l5D8cqEMZHBrzlNBySCkHotZ0q+gS8="
	peopleHidden = "mkp9f4qEhCDdLhxsOvoPy0ZTYyiqezfvkugCbDKtgzA="
	nameHidden   = "BS5KBtwwh9H/2ya37TPHVeShz5ImJfTpM79wM4by85I="
)
