package access_test

import (
	"testing"

	"shardsh/balancer/mock/access"
)

// Every built-in role can be put together, of actions that a created role may
// have, too.
func TestBuiltinRolesHaveKnownActions(t *testing.T) {
	d := access.NewDirectory()
	roles := access.BuiltinRoles("admin")
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
				if !a.IsKnown() {
					t.Errorf("%s on %v: %q is not an action", role.Role, p.Resource, a)
				}
			}
		}
	}
	if other := access.BuiltinRoles("app"); len(other) != 5 {
		t.Errorf("roles of another database %v", other)
	}
}

func TestGrantsReachAsFarAsTheirResource(t *testing.T) {
	d := access.NewDirectory()
	role := access.Role{Role: "r", Database: "admin"}
	for _, tt := range []struct {
		name    string
		has     access.Resource
		on      access.Resource
		allowed bool
	}{
		{"a collection", access.CollectionResource("a", "x"), access.CollectionResource("a", "x"), true},
		{"another collection", access.CollectionResource("a", "x"), access.CollectionResource("a", "y"), false},
		{"its database is more", access.CollectionResource("a", "x"), access.DatabaseResource("a"), false},
		{"a database's collections", access.DatabaseResource("a"), access.CollectionResource("a", "x"), true},
		{"a database's system collections are named", access.DatabaseResource("a"), access.CollectionResource("a", "system.users"), false},
		{"by name", access.CollectionResource("a", "system.users"), access.CollectionResource("a", "system.users"), true},
		{"a name in any database", access.CollectionResource("", "x"), access.CollectionResource("b", "x"), true},
		{"also on config", access.CollectionResource("", "x"), access.CollectionResource("config", "x"), true},
		{"any database", access.DatabaseResource(""), access.CollectionResource("a", "x"), true},
		{"any but config", access.DatabaseResource(""), access.CollectionResource("config", "settings"), false},
		{"any but local", access.DatabaseResource(""), access.DatabaseResource("local"), false},
		{"config by name", access.DatabaseResource("config"), access.CollectionResource("config", "settings"), true},
		{"the cluster is not a database", access.DatabaseResource(""), access.ClusterResource(), false},
		{"no database is the cluster", access.ClusterResource(), access.DatabaseResource("a"), false},
		{"everything", access.AnyResource(), access.CollectionResource("local", "system.x"), true},
		{"everything has the cluster", access.AnyResource(), access.ClusterResource(), true},
	} {
		if err := d.CreateRole(access.RoleDefinition{Role: role,
			Privileges: []access.Privilege{{Resource: tt.has, Actions: []access.Action{"find"}}}}); err != nil {
			t.Fatal(err)
		}
		g := d.RoleGrants([]access.Role{role})
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
