package users_test

import (
	"testing"

	"shardsh/balancer/mock/users"
)

// Every built-in role can be put together, of actions that a created role may
// have, too.
func TestBuiltinRolesHaveKnownActions(t *testing.T) {
	d := users.NewDirectory()
	roles := users.BuiltinRoles("admin")
	if len(roles) < 18 {
		t.Fatalf("roles %v", roles)
	}
	for _, role := range roles {
		def, there := d.FindRole(role)
		if !there || !def.Builtin || len(def.Privileges) == 0 {
			t.Errorf("%s: %v", role.Role, def)
			continue
		}
		for _, p := range def.Privileges {
			for _, a := range p.Actions {
				if !a.Known() {
					t.Errorf("%s on %v: %q is no action", role.Role, p.Resource, a)
				}
			}
		}
	}
	if other := users.BuiltinRoles("app"); len(other) != 5 {
		t.Errorf("roles of another database %v", other)
	}
}

func TestGrantsReachAsFarAsTheirResource(t *testing.T) {
	d := users.NewDirectory()
	role := users.Role{Role: "r", Database: "admin"}
	for _, tt := range []struct {
		name    string
		has     users.Resource
		on      users.Resource
		allowed bool
	}{
		{"a collection", users.On("a", "x"), users.On("a", "x"), true},
		{"another collection", users.On("a", "x"), users.On("a", "y"), false},
		{"its database is more", users.On("a", "x"), users.In("a"), false},
		{"a database's collections", users.In("a"), users.On("a", "x"), true},
		{"a database's system collections are named", users.In("a"), users.On("a", "system.users"), false},
		{"by name", users.On("a", "system.users"), users.On("a", "system.users"), true},
		{"a name in any database", users.On("", "x"), users.On("b", "x"), true},
		{"also on config", users.On("", "x"), users.On("config", "x"), true},
		{"any database", users.In(""), users.On("a", "x"), true},
		{"any but config", users.In(""), users.On("config", "settings"), false},
		{"any but local", users.In(""), users.In("local"), false},
		{"config by name", users.In("config"), users.On("config", "settings"), true},
		{"the cluster is no database", users.In(""), users.TheCluster(), false},
		{"no database is the cluster", users.TheCluster(), users.In("a"), false},
		{"everything", users.Everything(), users.On("local", "system.x"), true},
		{"everything has the cluster", users.Everything(), users.TheCluster(), true},
	} {
		if err := d.CreateRole(users.Definition{Role: role, Privileges: []users.Privilege{{Resource: tt.has, Actions: []users.Action{"find"}}}}); err != nil {
			t.Fatal(err)
		}
		g := d.RoleGrants([]users.Role{role})
		if got := g.Allows(tt.on, "find"); got != tt.allowed {
			t.Errorf("%s: %v", tt.name, got)
		}
		if g.Allows(tt.has, "find", "insert") {
			t.Errorf("%s: an action that was not granted is allowed", tt.name)
		}
		if _, _, err := d.DropRole(role); err != nil {
			t.Fatal(err)
		}
	}
}
