package call_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// A command without a rule is refused to all, so each must have one.
func TestEveryCommandHasAPrivilege(t *testing.T) {
	x := routertest.NewRoleTester(t)
	elems, err := x.As("root", "admin", d("listCommands", 1)).Lookup("commands").Document().Elements()
	if err != nil || len(elems) < 100 {
		t.Fatalf("%d commands: %v", len(elems), err)
	}
	x.As("root", "admin", d("createUser", "all", "pwd", "p", "roles", bson.A{"__system"}))
	all := x.Login("all", "p", "admin")
	for _, e := range elems {
		if e.Key() == "logout" {
			continue
		}
		raw, _ := all.Database("admin").RunCommand(t.Context(), d(e.Key(), 1)).Raw()
		if routertest.IsUnauthorized(raw) {
			t.Errorf("%s has no rule: even __system is refused", e.Key())
		}
	}
}

func TestPipelinesNeedWhatTheirStagesDo(t *testing.T) {
	x := routertest.NewRoleTester(t)
	x.As("root", "app", d("createRole", "clerk", "roles", bson.A{}, "privileges", bson.A{
		d("resource", d("db", "app", "collection", "orders"), "actions", bson.A{"find", "insert"}),
		d("resource", d("db", "app", "collection", "log"), "actions", bson.A{"insert", "update"}),
		d("resource", d("db", "app", "collection", "report"), "actions", bson.A{"insert", "remove"}),
	}))
	lookup := func(from string) bson.D {
		return d("$lookup", d("from", from, "localField", "_id", "foreignField", "_id", "as", "x"))
	}
	for _, tt := range []struct {
		name     string
		on       any
		pipeline bson.A
		allowed  bool
	}{
		{"its own collection", "orders", bson.A{}, true},
		{"another", "secret", bson.A{}, false},
		{"a join with its own", "orders", bson.A{lookup("orders")}, true},
		{"a join with another", "orders", bson.A{lookup("secret")}, false},
		{"a join inside $facet", "orders", bson.A{d("$facet", d("a", bson.A{lookup("secret")}))}, false},
		{"a join inside a join", "orders", bson.A{d("$lookup", d("from", "orders", "pipeline", bson.A{lookup("secret")}, "as", "x"))}, false},
		{"a union", "orders", bson.A{d("$unionWith", "secret")}, false},
		{"a union of documents only", "orders", bson.A{d("$unionWith", d("pipeline", bson.A{d("$documents", bson.A{d("a", 1)})}))}, true},
		{"a union with a pipeline", "orders", bson.A{d("$unionWith", d("coll", "orders", "pipeline", bson.A{d("$unionWith", "secret")}))}, false},
		{"a graph", "orders", bson.A{d("$graphLookup", d("from", "secret", "startWith", "$_id", "connectFromField", "_id", "connectToField", "_id", "as", "x"))}, false},
		{"documents of its own", 1, bson.A{d("$documents", bson.A{d("a", 1)})}, true},
		{"statistics", "orders", bson.A{d("$collStats", d("count", d()))}, false},
		{"out", "orders", bson.A{d("$out", "report")}, true},
		{"out without remove", "orders", bson.A{d("$out", "log")}, false},
		{"out to another database", "orders", bson.A{d("$out", d("db", "other", "coll", "report"))}, false},
		{"merge", "orders", bson.A{d("$merge", d("into", "log"))}, true},
		{"merge without update", "orders", bson.A{d("$merge", d("into", "report"))}, false},
		{"merge that only inserts", "orders", bson.A{d("$merge", d("into", "report", "whenMatched", "keepExisting"))}, true},
	} {
		reply := x.As("clerk@app", "app", d("aggregate", tt.on, "pipeline", tt.pipeline, "cursor", d()))
		if routertest.IsUnauthorized(reply) == tt.allowed {
			t.Errorf("%s: allowed is %v, want %v: %s", tt.name, !tt.allowed, tt.allowed, reply)
		}
		if ok, _ := reply.Lookup("ok").AsFloat64OK(); tt.allowed && ok != 1 {
			t.Errorf("%s: %s", tt.name, reply)
		}
	}
	// A view opens what it shows, to those who may read the view.
	x.As("root", "app", d("create", "public", "viewOn", "secret", "pipeline", bson.A{}))
	x.As("root", "app", d("grantPrivilegesToRole", "clerk", "privileges", bson.A{d("resource", d("db", "app", "collection", "public"), "actions", bson.A{"find"})}))
	if reply := x.As("clerk@app", "app", d("find", "public")); routertest.IsUnauthorized(reply) {
		t.Errorf("the view: %s", reply)
	}
	if reply := x.As("clerk@app", "app", d("create", "mine", "viewOn", "secret", "pipeline", bson.A{})); !routertest.IsUnauthorized(reply) {
		t.Errorf("whoever may not read a collection may make no view of it: %s", reply)
	}
}

func TestRefusalsSayWhatWasRefused(t *testing.T) {
	x := routertest.NewRoleTester(t)
	for _, tt := range []struct {
		db      string
		command bson.D
		text    string
	}{
		{"other", d("find", "things", "filter", d("a", d("$gt", 1.5), "b", bson.A{"x", nil}), "limit", int64(2)),
			`not authorized on other to execute command { find: "things", filter: { a: { $gt: 1.5 }, b: [ "x", null ] }, limit: 2, `},
		{"admin", d("createUser", "u", "pwd", "secret-word", "roles", bson.A{}), `not authorized on admin to execute command { createUser: "u", pwd: "xxx", roles: [], `},
		{"app", d("insert", "x", "documents", bson.A{d("secret", 1)}, "ordered", true), `not authorized on app to execute command { insert: "x", ordered: true, `},
	} {
		reply := x.As("read@app", tt.db, tt.command)
		text := reply.Lookup("errmsg").StringValue()
		if !strings.HasPrefix(text, tt.text) || !strings.HasSuffix(text, `$db: "`+tt.db+`" }`) {
			t.Errorf("%s", text)
		}
		if name := reply.Lookup("codeName").StringValue(); name != "Unauthorized" {
			t.Errorf("codeName %s", name)
		}
	}
}

func TestOnlyWhatOneMayUseIsListed(t *testing.T) {
	x := routertest.NewRoleTester(t)
	x.As("root", "app", d("createRole", "clerk", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", "orders"), "actions", bson.A{"find"})}))
	names := func(array bson.RawValue) []string {
		values, err := array.Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, v := range values {
			list = append(list, v.Document().Lookup("name").StringValue())
		}
		slices.Sort(list)
		return list
	}
	databases := d("listDatabases", 1, "nameOnly", true)
	for role, want := range map[string][]string{
		"clerk@app": {"app"}, "read@other": {"other"}, "read@config": {"config"}, "clusterMonitor": {"admin", "app", "config", "other"},
		"readAnyDatabase": {"admin", "app", "config", "other"},
	} {
		if got := names(x.As(role, "admin", databases).Lookup("databases")); !slices.Equal(got, want) && !slices.Equal(got, slices.DeleteFunc(want, func(s string) bool { return s == "admin" })) {
			t.Errorf("%s sees the databases %v, want %v", role, got, want)
		}
	}
	only := append(databases, bson.E{Key: "authorizedDatabases", Value: true})
	if got := names(x.As("readAnyDatabase", "admin", only).Lookup("databases")); slices.Contains(got, "config") || !slices.Contains(got, "app") {
		t.Errorf("of those that readAnyDatabase may use: %v", got)
	}
	collections := d("listCollections", 1, "nameOnly", true, "authorizedCollections", true)
	if got := names(x.As("clerk@app", "app", collections).Lookup("cursor", "firstBatch")); !slices.Equal(got, []string{"orders"}) {
		t.Errorf("collections %v", got)
	}
	if got := names(x.As("read@app", "app", collections).Lookup("cursor", "firstBatch")); !slices.Equal(got, []string{"orders", "secret"}) {
		t.Errorf("collections %v", got)
	}
	if reply := x.As("clerk@app", "app", d("listCollections", 1, "nameOnly", true)); !routertest.IsUnauthorized(reply) {
		t.Errorf("all collections: %s", reply)
	}
}

// A shard shows no more than its router does.
func TestOnlyWhatOneMayUseIsListedOnAShard(t *testing.T) {
	x := routertest.NewRoleTester(t)
	x.As("root", "app", d("createRole", "clerk", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", "orders"), "actions", bson.A{"find"})}))
	x.As("clerk@app", "app", d("find", "orders"))
	primary := x.As("root", "config", d("find", "databases", "filter", d("_id", "app")))
	shard := catalog.ShardID(primary.Lookup("cursor", "firstBatch", "0", "primary").StringValue())
	on := &routertest.RoleTester{Tester: &tester{T: t, Router: router.Member{Shard: shard, Set: "rs", Address: "x:1"}.NewNode(x.Router), Cluster: x.Cluster}}
	client := on.Login("clerk@app", "p", "admin")
	run := func(db string, command bson.D) string {
		raw, _ := client.Database(db).RunCommand(t.Context(), command).Raw()
		return raw.String()
	}
	if reply := run("admin", d("listDatabases", 1)); !strings.Contains(reply, `"app"`) || strings.Contains(reply, `"other"`) {
		t.Errorf("databases %s", reply)
	}
	if reply := run("app", d("listCollections", 1, "nameOnly", true, "authorizedCollections", true)); !strings.Contains(reply, `"orders"`) || strings.Contains(reply, `"secret"`) {
		t.Errorf("collections %s", reply)
	}
	if reply := run("app", d("find", "secret")); !strings.Contains(reply, "not authorized on app") {
		t.Errorf("another collection %s", reply)
	}
}

func TestCursorsBelongToUsers(t *testing.T) {
	x := routertest.NewRoleTester(t)
	cursor := x.As("root", "app", d("find", "orders", "batchSize", 1)).Lookup("cursor", "id").Int64()
	reply := x.As("read@app", "app", d("getMore", cursor, "collection", "orders"))
	if text, _ := reply.Lookup("errmsg").StringValueOK(); !strings.HasSuffix(text, "was not created by the authenticated user") {
		t.Errorf("another's cursor: %s", reply)
	}
	if reply := x.As("read@app", "app", d("killCursors", "orders", "cursors", bson.A{cursor})); !routertest.IsUnauthorized(reply) {
		t.Errorf("another's cursor is killed: %s", reply)
	}
	if reply := x.As("hostManager", "app", d("killCursors", "orders", "cursors", bson.A{cursor})); routertest.IsUnauthorized(reply) {
		t.Errorf("killAnyCursor: %s", reply)
	}
}
