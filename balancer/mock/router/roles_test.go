package router_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
)

// A command without a rule is refused to all, so each must have one.
func TestEveryCommandHasAPrivilege(t *testing.T) {
	x := newRoled(t)
	elems, err := x.as("root", "admin", d("listCommands", 1)).Lookup("commands").Document().Elements()
	if err != nil || len(elems) < 100 {
		t.Fatalf("%d commands: %v", len(elems), err)
	}
	x.as("root", "admin", d("createUser", "all", "pwd", "p", "roles", bson.A{"__system"}))
	all := x.login("all", "p", "admin")
	for _, e := range elems {
		if e.Key() == "logout" {
			continue
		}
		raw, _ := all.Database("admin").RunCommand(t.Context(), d(e.Key(), 1)).Raw()
		if unauthorized(raw) {
			t.Errorf("%s has no rule: even __system is refused", e.Key())
		}
	}
}

func TestPipelinesNeedWhatTheirStagesDo(t *testing.T) {
	x := newRoled(t)
	x.as("root", "app", d("createRole", "clerk", "roles", bson.A{}, "privileges", bson.A{
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
		reply := x.as("clerk@app", "app", d("aggregate", tt.on, "pipeline", tt.pipeline, "cursor", d()))
		if unauthorized(reply) == tt.allowed {
			t.Errorf("%s: allowed is %v, want %v: %s", tt.name, !tt.allowed, tt.allowed, reply)
		}
		if ok, _ := reply.Lookup("ok").AsFloat64OK(); tt.allowed && ok != 1 {
			t.Errorf("%s: %s", tt.name, reply)
		}
	}
	// A view opens what it shows, to those who may read the view.
	x.as("root", "app", d("create", "public", "viewOn", "secret", "pipeline", bson.A{}))
	x.as("root", "app", d("grantPrivilegesToRole", "clerk", "privileges", bson.A{d("resource", d("db", "app", "collection", "public"), "actions", bson.A{"find"})}))
	if reply := x.as("clerk@app", "app", d("find", "public")); unauthorized(reply) {
		t.Errorf("the view: %s", reply)
	}
	if reply := x.as("clerk@app", "app", d("create", "mine", "viewOn", "secret", "pipeline", bson.A{})); !unauthorized(reply) {
		t.Errorf("whoever may not read a collection may make no view of it: %s", reply)
	}
}

func TestRefusalsSayWhatWasRefused(t *testing.T) {
	x := newRoled(t)
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
		reply := x.as("read@app", tt.db, tt.command)
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
	x := newRoled(t)
	x.as("root", "app", d("createRole", "clerk", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", "orders"), "actions", bson.A{"find"})}))
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
		if got := names(x.as(role, "admin", databases).Lookup("databases")); !slices.Equal(got, want) && !slices.Equal(got, slices.DeleteFunc(want, func(s string) bool { return s == "admin" })) {
			t.Errorf("%s sees the databases %v, want %v", role, got, want)
		}
	}
	only := append(databases, bson.E{Key: "authorizedDatabases", Value: true})
	if got := names(x.as("readAnyDatabase", "admin", only).Lookup("databases")); slices.Contains(got, "config") || !slices.Contains(got, "app") {
		t.Errorf("of those that readAnyDatabase may use: %v", got)
	}
	collections := d("listCollections", 1, "nameOnly", true, "authorizedCollections", true)
	if got := names(x.as("clerk@app", "app", collections).Lookup("cursor", "firstBatch")); !slices.Equal(got, []string{"orders"}) {
		t.Errorf("collections %v", got)
	}
	if got := names(x.as("read@app", "app", collections).Lookup("cursor", "firstBatch")); !slices.Equal(got, []string{"orders", "secret"}) {
		t.Errorf("collections %v", got)
	}
	if reply := x.as("clerk@app", "app", d("listCollections", 1, "nameOnly", true)); !unauthorized(reply) {
		t.Errorf("all collections: %s", reply)
	}
}

// A shard shows no more than its router does.
func TestOnlyWhatOneMayUseIsListedOnAShard(t *testing.T) {
	x := newRoled(t)
	x.as("root", "app", d("createRole", "clerk", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", "orders"), "actions", bson.A{"find"})}))
	x.as("clerk@app", "app", d("find", "orders"))
	primary := x.as("root", "config", d("find", "databases", "filter", d("_id", "app")))
	shard := catalog.ShardID(primary.Lookup("cursor", "firstBatch", "0", "primary").StringValue())
	on := &roled{tester: &tester{t: t, router: router.Member{ID: shard, Set: "rs", Address: "x:1"}.Of(x.router), cluster: x.cluster}}
	client := on.login("clerk@app", "p", "admin")
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
	x := newRoled(t)
	cursor := x.as("root", "app", d("find", "orders", "batchSize", 1)).Lookup("cursor", "id").Int64()
	reply := x.as("read@app", "app", d("getMore", cursor, "collection", "orders"))
	if text, _ := reply.Lookup("errmsg").StringValueOK(); !strings.HasSuffix(text, "was not created by the authenticated user") {
		t.Errorf("another's cursor: %s", reply)
	}
	if reply := x.as("read@app", "app", d("killCursors", "orders", "cursors", bson.A{cursor})); !unauthorized(reply) {
		t.Errorf("another's cursor is killed: %s", reply)
	}
	if reply := x.as("hostManager", "app", d("killCursors", "orders", "cursors", bson.A{cursor})); unauthorized(reply) {
		t.Errorf("killAnyCursor: %s", reply)
	}
}

// Roles count as they are now, on connections that are open, too.
func TestChangedRolesCountAtOnce(t *testing.T) {
	x := newRoled(t)
	may := func(want bool, when string) {
		t.Helper()
		if reply := x.as("read@other", "app", d("find", "orders")); unauthorized(reply) == want {
			t.Errorf("%s: %s", when, reply)
		}
	}
	ok := func(db string, command bson.D) {
		t.Helper()
		if reply := x.as("root", db, command); reply.Lookup("ok").AsFloat64() != 1 {
			t.Fatalf("%v: %s", command, reply)
		}
	}
	const user = "read@other"
	may(false, "at first")
	ok("admin", d("grantRolesToUser", user, "roles", bson.A{d("role", "read", "db", "app")}))
	may(true, "with a role more")
	ok("admin", d("revokeRolesFromUser", user, "roles", bson.A{d("role", "read", "db", "app")}))
	may(false, "without it again")
	ok("app", d("createRole", "inner", "privileges", bson.A{}, "roles", bson.A{}))
	ok("app", d("createRole", "outer", "privileges", bson.A{}, "roles", bson.A{"inner"}))
	ok("admin", d("grantRolesToUser", user, "roles", bson.A{d("role", "outer", "db", "app")}))
	may(false, "with an empty role")
	ok("app", d("grantPrivilegesToRole", "inner", "privileges", bson.A{d("resource", d("db", "app", "collection", ""), "actions", bson.A{"find"})}))
	may(true, "when the role inside gets a privilege")
	ok("app", d("revokePrivilegesFromRole", "inner", "privileges", bson.A{d("resource", d("db", "app", "collection", ""), "actions", bson.A{"find"})}))
	may(false, "when it loses it")
	ok("app", d("grantRolesToRole", "outer", "roles", bson.A{"read"}))
	may(true, "when the role inherits from read")
	ok("app", d("dropRole", "outer"))
	may(false, "when the role is dropped")
	ok("admin", d("dropUser", user))
	reply := x.as(user, "app", d("find", "orders"))
	if text, _ := reply.Lookup("errmsg").StringValueOK(); text != "Command find requires authentication" {
		t.Errorf("a dropped user: %s", reply)
	}
}

func TestRoleCommands(t *testing.T) {
	x := newRoled(t)
	find := d("resource", d("db", "app", "collection", ""), "actions", bson.A{"find"})
	for _, tt := range []struct {
		name, db string
		command  bson.D
		code     int32
	}{
		{"create", "app", d("createRole", "r", "privileges", bson.A{find, find}, "roles", bson.A{"read"}), 0},
		{"twice", "app", d("createRole", "r", "privileges", bson.A{}, "roles", bson.A{}), 51002},
		{"a built-in one", "app", d("createRole", "read", "privileges", bson.A{}, "roles", bson.A{}), 2},
		{"without roles", "app", d("createRole", "s", "privileges", bson.A{}), 40414},
		{"an unknown role inside", "app", d("createRole", "s", "privileges", bson.A{}, "roles", bson.A{"king"}), 31},
		{"admin's roles are not app's", "app", d("createRole", "s", "privileges", bson.A{}, "roles", bson.A{"root"}), 31},
		{"another database's privilege", "app", d("createRole", "s", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "other", "collection", ""), "actions", bson.A{"find"})}), 49},
		{"another database's role", "app", d("createRole", "s", "privileges", bson.A{}, "roles", bson.A{d("role", "read", "db", "other")}), 49},
		{"the cluster, outside of admin", "app", d("createRole", "s", "roles", bson.A{}, "privileges", bson.A{d("resource", d("cluster", true), "actions", bson.A{"inprog"})}), 49},
		{"the cluster, on admin", "admin", d("createRole", "s", "roles", bson.A{}, "privileges", bson.A{d("resource", d("cluster", true), "actions", bson.A{"inprog"})}), 0},
		{"an unknown action", "app", d("createRole", "q", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", ""), "actions", bson.A{"fly"})}), 9},
		{"a resource of no kind", "app", d("createRole", "q", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app"), "actions", bson.A{"find"})}), 9},
		{"a role that has itself", "app", d("grantRolesToRole", "r", "roles", bson.A{"r"}), 49},
		{"a second one", "app", d("createRole", "r2", "privileges", bson.A{}, "roles", bson.A{"r"}), 0},
		{"a circle", "app", d("grantRolesToRole", "r", "roles", bson.A{"r2"}), 49},
		{"a built-in one changed", "app", d("grantRolesToRole", "read", "roles", bson.A{"r2"}), 49},
		{"a built-in one dropped", "app", d("dropRole", "read"), 49},
		{"dropped", "app", d("dropRole", "nobody"), 31},
		{"nothing granted", "app", d("grantRolesToRole", "r", "roles", bson.A{}), 2},
		{"nothing updated", "app", d("updateRole", "r"), 2},
		{"updated", "app", d("updateRole", "r", "privileges", bson.A{}), 0},
		{"granted to nobody", "app", d("grantRolesToUser", "nobody", "roles", bson.A{"r"}), 11},
		{"an unknown one granted", "admin", d("grantRolesToUser", "root", "roles", bson.A{"king"}), 31},
		{"a user with an unknown role", "app", d("createUser", "u", "pwd", "p", "roles", bson.A{"king"}), 31},
		{"restrictions", "app", d("createRole", "q", "privileges", bson.A{}, "roles", bson.A{}, "authenticationRestrictions", bson.A{}), 238},
		{"all", "app", d("dropAllRolesFromDatabase", 1), 0},
		{"after that", "app", d("dropRole", "r"), 31},
	} {
		reply := x.as("root", tt.db, tt.command)
		if code, _ := reply.Lookup("code").Int32OK(); code != tt.code {
			t.Errorf("%s: code %d, want %d: %s", tt.name, code, tt.code, reply)
		}
	}
}

func TestUsersAndRolesShowTheirPrivileges(t *testing.T) {
	x := newRoled(t)
	x.as("root", "app", d("createRole", "base", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", "a"), "actions", bson.A{"update", "find"})}))
	x.as("root", "app", d("createRole", "top", "roles", bson.A{"base"}, "privileges", bson.A{d("resource", d("db", "app", "collection", "a"), "actions", bson.A{"remove"})}))
	const (
		base = `{"role": "base","db": "app"}`
		top  = `{"role": "top","db": "app"}`
		a    = `{"resource": {"db": "app","collection": "a"},"actions": `
	)
	info := x.as("top@app", "admin", d("connectionStatus", 1, "showPrivileges", true)).Lookup("authInfo").Document()
	for field, want := range map[string]string{
		"authenticatedUsers":          `[{"user": "top@app","db": "admin"}]`,
		"authenticatedUserRoles":      `[` + base + `,` + top + `]`,
		"authenticatedUserPrivileges": `[` + a + `["find","remove","update"]}]`,
	} {
		if got := info.Lookup(field).String(); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	role := x.as("top@app", "app", d("rolesInfo", "top", "showPrivileges", true)).Lookup("roles", "0").Document()
	for field, want := range map[string]string{
		"isBuiltin": "false", "roles": `[` + base + `]`, "inheritedRoles": `[` + base + `]`,
		"privileges": `[` + a + `["remove"]}]`, "inheritedPrivileges": `[` + a + `["find","remove","update"]}]`,
	} {
		if got := role.Lookup(field).String(); got != want {
			t.Errorf("role's %s: %s, want %s", field, got, want)
		}
	}
	user := x.as("top@app", "admin", d("usersInfo", "top@app", "showPrivileges", true)).Lookup("users", "0").Document()
	for field, want := range map[string]string{
		"roles": `[` + top + `]`, "inheritedRoles": `[` + base + `,` + top + `]`, "inheritedPrivileges": `[` + a + `["find","remove","update"]}]`,
	} {
		if got := user.Lookup(field).String(); got != want {
			t.Errorf("user's %s: %s, want %s", field, got, want)
		}
	}
	if reply := x.as("top@app", "admin", d("usersInfo", "root")); !unauthorized(reply) {
		t.Errorf("another user: %s", reply)
	}
	if reply := x.as("root", "admin", d("usersInfo", 1, "showPrivileges", true)); reply.Lookup("code").Int32() != 20 {
		t.Errorf("privileges of all: %s", reply)
	}
	builtin, err := x.as("root", "app", d("rolesInfo", 1, "showBuiltinRoles", true)).Lookup("roles").Array().Values()
	if err != nil || len(builtin) != 2+5 {
		t.Errorf("roles of app: %v", builtin)
	}
}

// Without --auth nobody's roles are looked at, also of those who log in.
func TestRolesDoNotCountWithoutAuthentication(t *testing.T) {
	x := newS0(t)
	x.ok("admin", d("createUser", "u", "pwd", "p", "roles", bson.A{}))
	r := &roled{tester: x}
	u := r.login("u", "p", "admin")
	if err := u.Database("shop").RunCommand(t.Context(), d("find", "users")).Err(); err != nil {
		t.Error(err)
	}
}

func TestRolesAreKept(t *testing.T) {
	dir := t.TempDir()
	open := func() (*tester, func()) {
		c, err := mock.New(mock.Config{DBPath: dir})
		if err != nil {
			t.Fatal(err)
		}
		return &tester{t: t, router: router.New(c, nil, router.WithUsers(access.NewDirectory(), false)), cluster: c}, c.Close
	}
	x, end := open()
	x.ok("app", d("createRole", "kept", "roles", bson.A{"read"}, "privileges", bson.A{d("resource", d("db", "app", "collection", "a"), "actions", bson.A{"update"})}))
	x.ok("app", d("createRole", "gone", "roles", bson.A{}, "privileges", bson.A{}))
	x.ok("app", d("createUser", "u", "pwd", "p", "roles", bson.A{"kept", "gone"}))
	x.ok("app", d("dropRole", "gone"))
	before := x.ok("app", d("rolesInfo", 1, "showPrivileges", true)).Lookup("roles").String()
	end()
	x, end = open()
	defer end()
	if after := x.ok("app", d("rolesInfo", 1, "showPrivileges", true)).Lookup("roles").String(); after != before || !strings.Contains(after, "kept") {
		t.Errorf("roles %s, before %s", after, before)
	}
	if roles := x.ok("app", d("usersInfo", "u")).Lookup("users", "0", "roles").String(); roles != `[{"role": "kept","db": "app"}]` {
		t.Errorf("the user's roles %s", roles)
	}
}
