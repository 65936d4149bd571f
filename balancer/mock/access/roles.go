package access

import (
	"cmp"
	"maps"
	"slices"

	"shardsh/balancer/mongoerr"
)

// RoleDefinition is a built-in or created role. It is immutable: an update makes a new RoleDefinition.
type RoleDefinition struct {
	Role
	Builtin    bool
	Privileges []Privilege
	// Roles are the roles whose privileges this role inherits.
	Roles []Role
}

func compareRoles(a, b Role) int {
	return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Database, b.Database))
}

// FindRole returns a role, built-in or created.
func (d *Directory) FindRole(r Role) (*RoleDefinition, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.findRole(r)
}

func (d *Directory) findRole(r Role) (*RoleDefinition, bool) {
	if privileges, known := builtinPrivileges(r); known {
		return &RoleDefinition{Role: r, Builtin: true, Privileges: newGrants(privileges).Privileges()}, true
	}
	def, known := d.roles[key{r.Database, r.Role}]
	return def, known
}

// Roles returns the created roles sorted by database and name.
func (d *Directory) Roles() []*RoleDefinition {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.SortedFunc(maps.Values(d.roles), func(a, b *RoleDefinition) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Role.Role, b.Role.Role))
	})
}

// CreateRole adds a role. It fails with 51002 if the role exists, and with RoleNotFound if an inherited
// role does not exist.
func (d *Directory) CreateRole(def RoleDefinition) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := builtinPrivileges(def.Role); known {
		return mongoerr.New(mongoerr.BadValue, "Cannot create roles with the same name as a built-in role")
	}
	k := key{def.Database, def.Role.Role}
	if d.roles[k] != nil {
		return mongoerr.New(mongoerr.RoleExists, "Role \"%s@%s\" already exists", def.Role.Role, def.Database)
	}
	return d.putRole(k, def)
}

// ChangeRole applies change to a copy of a created role and stores the copy.
func (d *Directory) ChangeRole(r Role, change func(*RoleDefinition) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, builtin := builtinPrivileges(r); builtin {
		return mongoerr.New(mongoerr.InvalidRoleModification, "%s@%s is a built-in role and cannot be modified", r.Role,
			r.Database)
	}
	old := d.roles[key{r.Database, r.Role}]
	if old == nil {
		return RoleNotFound(r)
	}
	updated := RoleDefinition{Role: r, Privileges: slices.Clone(old.Privileges), Roles: slices.Clone(old.Roles)}
	if err := change(&updated); err != nil {
		return err
	}
	return d.putRole(key{r.Database, r.Role}, updated)
}

// putRole checks the roles that a role inherits from and stores the role. The caller holds the lock.
func (d *Directory) putRole(k key, def RoleDefinition) error {
	for _, of := range def.Roles {
		if of == def.Role {
			return mongoerr.New(mongoerr.InvalidRoleModification, "Cannot grant role %s@%s to itself", of.Role, of.Database)
		}
		if _, known := d.findRole(of); !known {
			return RoleNotFound(of)
		}
		if slices.Contains(d.withInherited([]Role{of}), def.Role) {
			return mongoerr.New(mongoerr.InvalidRoleModification,
				"Granting %s@%s to %s@%s would introduce a cycle in the role graph",
				of.Role, of.Database, def.Role.Role, def.Database)
		}
	}
	def.Privileges = newGrants(def.Privileges).Privileges()
	slices.SortFunc(def.Roles, compareRoles)
	def.Roles = slices.Compact(def.Roles)
	d.roles[k] = &def
	d.clearGrants()
	return nil
}

// DropRole removes a created role and revokes it from all users and roles that have it. It returns the
// changed users and roles.
func (d *Directory) DropRole(r Role) (changedUsers []*User, changedRoles []*RoleDefinition, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, builtin := builtinPrivileges(r); builtin {
		return nil, nil, mongoerr.New(mongoerr.InvalidRoleModification, "%s@%s is a built-in role and cannot be modified",
			r.Role, r.Database)
	}
	if d.roles[key{r.Database, r.Role}] == nil {
		return nil, nil, RoleNotFound(r)
	}
	delete(d.roles, key{r.Database, r.Role})
	d.clearGrants()
	isIt := func(of Role) bool { return of == r }
	for k, u := range d.users {
		if slices.ContainsFunc(u.Roles, isIt) {
			updated := *u
			updated.Roles = slices.DeleteFunc(slices.Clone(u.Roles), isIt)
			d.users[k] = &updated
			changedUsers = append(changedUsers, &updated)
		}
	}
	for k, def := range d.roles {
		if slices.ContainsFunc(def.Roles, isIt) {
			updated := *def
			updated.Roles = slices.DeleteFunc(slices.Clone(def.Roles), isIt)
			d.roles[k] = &updated
			changedRoles = append(changedRoles, &updated)
		}
	}
	return changedUsers, changedRoles, nil
}

// WithInherited returns roles and the roles they inherit from, each once, sorted by name.
func (d *Directory) WithInherited(roles []Role) []Role {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.withInherited(roles)
}

func (d *Directory) withInherited(roles []Role) []Role {
	seen := map[Role]bool{}
	var list []Role
	var visit func([]Role)
	visit = func(roles []Role) {
		for _, r := range roles {
			if seen[r] {
				continue
			}
			seen[r] = true
			list = append(list, r)
			if def := d.roles[key{r.Database, r.Role}]; def != nil {
				visit(def.Roles)
			}
		}
	}
	visit(roles)
	slices.SortFunc(list, compareRoles)
	return list
}

// RoleGrants returns all privileges of roles.
func (d *Directory) RoleGrants(roles []Role) *Grants {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.roleGrants(roles)
}

func (d *Directory) roleGrants(roles []Role) *Grants {
	g := newGrants(nil)
	for _, r := range d.withInherited(roles) {
		privileges, known := builtinPrivileges(r)
		if def := d.roles[key{r.Database, r.Role}]; !known && def != nil {
			privileges = def.Privileges
		}
		for _, p := range privileges {
			g.add(p)
		}
	}
	return g
}

// Grants returns the current privileges of a user. It returns false if the user no longer exists. The
// privileges are cached until users or roles change.
func (d *Directory) Grants(of *User) (*Grants, bool) {
	k := key{of.Database, of.Name}
	d.mu.RLock()
	u := d.users[k]
	g, known := d.grants[k]
	d.mu.RUnlock()
	if u == nil || !u.SameAs(of) {
		return nil, false
	}
	if known {
		return g, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if u = d.users[k]; u == nil || !u.SameAs(of) {
		return nil, false
	}
	g = d.roleGrants(u.Roles)
	d.grants[k] = g
	return g, true
}

// clearGrants drops the cached grants. The caller holds the lock.
func (d *Directory) clearGrants() { clear(d.grants) }

// RoleNotFound returns the server's error for a role that does not exist.
func RoleNotFound(r Role) error {
	return mongoerr.New(mongoerr.RoleNotFound, "Could not find role: %s@%s", r.Role, r.Database)
}
