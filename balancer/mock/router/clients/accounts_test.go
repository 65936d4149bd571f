package clients_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// Roles count as they are now, on connections that are open, too.
func TestChangedRolesCountAtOnce(t *testing.T) {
	x := routertest.NewRoleTester(t)
	may := func(want bool, when string) {
		t.Helper()
		if reply := x.As("read@other", "app", d("find", "orders")); routertest.IsUnauthorized(reply) == want {
			t.Errorf("%s: %s", when, reply)
		}
	}
	ok := func(db string, command bson.D) {
		t.Helper()
		if reply := x.As("root", db, command); reply.Lookup("ok").AsFloat64() != 1 {
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
	reply := x.As(user, "app", d("find", "orders"))
	if text, _ := reply.Lookup("errmsg").StringValueOK(); text != "Command find requires authentication" {
		t.Errorf("a dropped user: %s", reply)
	}
}

func TestRoleCommands(t *testing.T) {
	x := routertest.NewRoleTester(t)
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
		reply := x.As("root", tt.db, tt.command)
		if code, _ := reply.Lookup("code").Int32OK(); code != tt.code {
			t.Errorf("%s: code %d, want %d: %s", tt.name, code, tt.code, reply)
		}
	}
}

func TestUsersAndRolesShowTheirPrivileges(t *testing.T) {
	x := routertest.NewRoleTester(t)
	x.As("root", "app", d("createRole", "base", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", "a"), "actions", bson.A{"update", "find"})}))
	x.As("root", "app", d("createRole", "top", "roles", bson.A{"base"}, "privileges", bson.A{d("resource", d("db", "app", "collection", "a"), "actions", bson.A{"remove"})}))
	const (
		base = `{"role": "base","db": "app"}`
		top  = `{"role": "top","db": "app"}`
		a    = `{"resource": {"db": "app","collection": "a"},"actions": `
	)
	info := x.As("top@app", "admin", d("connectionStatus", 1, "showPrivileges", true)).Lookup("authInfo").Document()
	for field, want := range map[string]string{
		"authenticatedUsers":          `[{"user": "top@app","db": "admin"}]`,
		"authenticatedUserRoles":      `[` + base + `,` + top + `]`,
		"authenticatedUserPrivileges": `[` + a + `["find","remove","update"]}]`,
	} {
		if got := info.Lookup(field).String(); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	role := x.As("top@app", "app", d("rolesInfo", "top", "showPrivileges", true)).Lookup("roles", "0").Document()
	for field, want := range map[string]string{
		"isBuiltin": "false", "roles": `[` + base + `]`, "inheritedRoles": `[` + base + `]`,
		"privileges": `[` + a + `["remove"]}]`, "inheritedPrivileges": `[` + a + `["find","remove","update"]}]`,
	} {
		if got := role.Lookup(field).String(); got != want {
			t.Errorf("role's %s: %s, want %s", field, got, want)
		}
	}
	user := x.As("top@app", "admin", d("usersInfo", "top@app", "showPrivileges", true)).Lookup("users", "0").Document()
	for field, want := range map[string]string{
		"roles": `[` + top + `]`, "inheritedRoles": `[` + base + `,` + top + `]`, "inheritedPrivileges": `[` + a + `["find","remove","update"]}]`,
	} {
		if got := user.Lookup(field).String(); got != want {
			t.Errorf("user's %s: %s, want %s", field, got, want)
		}
	}
	if reply := x.As("top@app", "admin", d("usersInfo", "root")); !routertest.IsUnauthorized(reply) {
		t.Errorf("another user: %s", reply)
	}
	if reply := x.As("root", "admin", d("usersInfo", 1, "showPrivileges", true)); reply.Lookup("code").Int32() != 20 {
		t.Errorf("privileges of all: %s", reply)
	}
	builtin, err := x.As("root", "app", d("rolesInfo", 1, "showBuiltinRoles", true)).Lookup("roles").Array().Values()
	if err != nil || len(builtin) != 2+5 {
		t.Errorf("roles of app: %v", builtin)
	}
}

// Without --auth nobody's roles are looked at, also of those who log in.
func TestRolesDoNotCountWithoutAuthentication(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("admin", d("createUser", "u", "pwd", "p", "roles", bson.A{}))
	r := &routertest.RoleTester{Tester: x}
	u := r.Login("u", "p", "admin")
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
		return &tester{T: t, Router: router.New(c, nil, router.WithUsers(access.NewDirectory(), false)), Cluster: c}, c.Close
	}
	x, end := open()
	x.OK("app", d("createRole", "kept", "roles", bson.A{"read"}, "privileges", bson.A{d("resource", d("db", "app", "collection", "a"), "actions", bson.A{"update"})}))
	x.OK("app", d("createRole", "gone", "roles", bson.A{}, "privileges", bson.A{}))
	x.OK("app", d("createUser", "u", "pwd", "p", "roles", bson.A{"kept", "gone"}))
	x.OK("app", d("dropRole", "gone"))
	before := x.OK("app", d("rolesInfo", 1, "showPrivileges", true)).Lookup("roles").String()
	end()
	x, end = open()
	defer end()
	if after := x.OK("app", d("rolesInfo", 1, "showPrivileges", true)).Lookup("roles").String(); after != before || !strings.Contains(after, "kept") {
		t.Errorf("roles %s, before %s", after, before)
	}
	if roles := x.OK("app", d("usersInfo", "u")).Lookup("users", "0", "roles").String(); roles != `[{"role": "kept","db": "app"}]` {
		t.Errorf("the user's roles %s", roles)
	}
}
