package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

func roleHandlers() map[string]handler {
	return map[string]handler{
		"createRole":               createRole,
		"updateRole":               updateRole,
		"dropRole":                 dropRole,
		"dropAllRolesFromDatabase": dropAllRoles,
		"grantRolesToUser":         changeUserRoles(addRoles),
		"revokeRolesFromUser":      changeUserRoles(removeRoles),
		"grantRolesToRole":         changeRoleRoles(addRoles),
		"revokeRolesFromRole":      changeRoleRoles(removeRoles),
		"grantPrivilegesToRole":    changePrivileges(addPrivileges),
		"revokePrivilegesFromRole": changePrivileges(removePrivileges),
		"rolesInfo":                rolesInfo,
	}
}

// namedRole is the role that the command's value names in its database.
func (c *call) namedRole() access.Role {
	return access.Role{Role: c.args.Text(c.invoked), Database: c.db}
}

// definition reads what createRole and updateRole say of a role.
func (c *call) definition() (access.Definition, error) {
	def := access.Definition{Role: c.namedRole()}
	if def.Role.Role == "" {
		return def, mongoerr.New(mongoerr.BadValue, "Role name must be non-empty")
	}
	if c.args.Has("authenticationRestrictions") {
		return def, mongoerr.New(mongoerr.NotImplemented, "the mock does not support authenticationRestrictions")
	}
	var err error
	if def.Roles, err = access.ReadRoles(c.db, c.body); err != nil {
		return def, err
	}
	def.Privileges, err = c.readPrivileges()
	return def, err
}

// readPrivileges reads the privileges of a role, which may reach beyond its
// database on admin only.
func (c *call) readPrivileges() ([]access.Privilege, error) {
	if !c.args.Has("privileges") {
		return nil, nil
	}
	docs, err := args.Documents(c.args["privileges"])
	if err != nil {
		return nil, err
	}
	var list []access.Privilege
	for _, doc := range docs {
		p, err := access.ReadPrivilege(doc)
		if err != nil {
			return nil, err
		}
		if c.db != "admin" && (p.Resource.Cluster || p.Resource.Any || p.Resource.Database != c.db) {
			return nil, mongoerr.New(mongoerr.InvalidRoleModification,
				"Roles on the '%s' database cannot be granted privileges that target other databases or the cluster", c.db)
		}
		list = append(list, p)
	}
	return list, nil
}

// checkOwnRoles: a role outside of admin inherits from its database's only.
func (c *call) checkOwnRoles(roles []access.Role) error {
	if c.db != "admin" && slices.ContainsFunc(roles, func(r access.Role) bool { return r.Database != c.db }) {
		return mongoerr.New(mongoerr.InvalidRoleModification,
			"Roles on the '%s' database cannot be granted roles from other databases", c.db)
	}
	return nil
}

func createRole(c *call) (bson.D, error) {
	def, err := c.definition()
	if err != nil {
		return nil, err
	}
	if err := c.checkOwnRoles(def.Roles); err != nil {
		return nil, err
	}
	if err := c.node.users.CreateRole(def); err != nil {
		return nil, err
	}
	c.node.storeRole(def.Role)
	return bson.D{}, nil
}

func updateRole(c *call) (bson.D, error) {
	def, err := c.definition()
	if err != nil {
		return nil, err
	}
	if !c.args.Has("roles") && !c.args.Has("privileges") {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one field to update in updateRole")
	}
	return changeRole(c, func(is *access.Definition) error {
		if c.args.Has("roles") {
			is.Roles = def.Roles
		}
		if c.args.Has("privileges") {
			is.Privileges = def.Privileges
		}
		return nil
	})
}

func changeRole(c *call, change func(*access.Definition) error) (bson.D, error) {
	role := c.namedRole()
	err := c.node.users.ChangeRole(role, func(is *access.Definition) error {
		if err := change(is); err != nil {
			return err
		}
		return c.checkOwnRoles(is.Roles)
	})
	if err != nil {
		return nil, err
	}
	c.node.storeRole(role)
	return bson.D{}, nil
}

func dropRole(c *call) (bson.D, error) {
	return bson.D{}, c.node.removeRole(c.namedRole())
}

// removeRole drops a role and keeps what that changes.
func (n *node) removeRole(role access.Role) error {
	changedUsers, changedRoles, err := n.users.DropRole(role)
	if err != nil {
		return err
	}
	n.storeRole(role)
	for _, u := range changedUsers {
		n.storeUser(u.Database, u.Name)
	}
	for _, def := range changedRoles {
		n.storeRole(def.Role)
	}
	return nil
}

func dropAllRoles(c *call) (bson.D, error) {
	n := int32(0)
	for _, def := range c.node.users.Roles() {
		if def.Database != c.db {
			continue
		}
		if err := c.node.removeRole(def.Role); err != nil {
			return nil, err
		}
		n++
	}
	return bson.D{{Key: "n", Value: n}}, nil
}

func addRoles(has, given []access.Role) []access.Role {
	has = slices.Clone(has)
	for _, role := range given {
		if !slices.Contains(has, role) {
			has = append(has, role)
		}
	}
	return has
}

func removeRoles(has, given []access.Role) []access.Role {
	return slices.DeleteFunc(append([]access.Role{}, has...),
		func(r access.Role) bool { return slices.Contains(given, r) })
}

// changeUserRoles is grantRolesToUser and revokeRolesFromUser.
func changeUserRoles(change func(has, given []access.Role) []access.Role) handler {
	return func(c *call) (bson.D, error) {
		given, err := c.givenRoles()
		if err != nil {
			return nil, err
		}
		name := c.args.Text(c.invoked)
		user, there := c.node.users.Find(c.db, name)
		if !there {
			return nil, access.NotFound(c.db, name)
		}
		if err := c.node.users.Update(c.db, name, access.Draft{Roles: change(user.Roles, given)}); err != nil {
			return nil, err
		}
		c.node.storeUser(c.db, name)
		return bson.D{}, nil
	}
}

// changeRoleRoles is grantRolesToRole and revokeRolesFromRole.
func changeRoleRoles(change func(has, given []access.Role) []access.Role) handler {
	return func(c *call) (bson.D, error) {
		given, err := c.givenRoles()
		if err != nil {
			return nil, err
		}
		return changeRole(c, func(is *access.Definition) error {
			is.Roles = change(is.Roles, given)
			return nil
		})
	}
}

// givenRoles are the roles to grant or revoke: at least one, and all there.
func (c *call) givenRoles() ([]access.Role, error) {
	given, err := access.ReadRoles(c.db, c.body)
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "%s command requires a non-empty \"roles\" array", c.invoked)
	}
	for _, role := range given {
		if _, there := c.node.users.FindRole(role); !there {
			return nil, access.RoleMissing(role)
		}
	}
	return given, nil
}

func addPrivileges(has, given []access.Privilege) []access.Privilege { return append(has, given...) }

func removePrivileges(has, given []access.Privilege) []access.Privilege {
	var left []access.Privilege
	for _, p := range has {
		p.Actions = slices.Clone(p.Actions)
		for _, take := range given {
			if take.Resource == p.Resource {
				p.Actions = slices.DeleteFunc(p.Actions, func(a access.Action) bool { return slices.Contains(take.Actions, a) })
			}
		}
		if len(p.Actions) > 0 {
			left = append(left, p)
		}
	}
	return left
}

// changePrivileges is grantPrivilegesToRole and revokePrivilegesFromRole.
func changePrivileges(change func(has, given []access.Privilege) []access.Privilege) handler {
	return func(c *call) (bson.D, error) {
		given, err := c.readPrivileges()
		if err != nil {
			return nil, err
		}
		if len(given) == 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "%s command requires a non-empty \"privileges\" array", c.invoked)
		}
		return changeRole(c, func(is *access.Definition) error {
			is.Privileges = change(is.Privileges, given)
			return nil
		})
	}
}

// rolesInfo takes 1 for all of the database, a name, a {role, db}, or an array
// of such.
func rolesInfo(c *call) (bson.D, error) {
	shows := c.body.Lookup("showPrivileges")
	if _, isText := shows.StringValueOK(); isText {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the mock does not support showPrivileges: \"asUserFragment\"")
	}
	wanted, err := c.rolesWanted(c.body.Lookup("rolesInfo"))
	if err != nil {
		return nil, err
	}
	list := bson.A{}
	for _, role := range wanted {
		if def, there := c.node.users.FindRole(role); there {
			list = append(list, c.node.roleDoc(def, args.Truth(shows)))
		}
	}
	return bson.D{{Key: "roles", Value: list}}, nil
}

func (c *call) rolesWanted(v bson.RawValue) ([]access.Role, error) {
	if n, isNumber := args.Number(v); isNumber && n == 1 {
		var list []access.Role
		for _, def := range c.node.users.Roles() {
			if def.Database == c.db {
				list = append(list, def.Role)
			}
		}
		if args.Truth(c.body.Lookup("showBuiltinRoles")) {
			list = append(list, access.BuiltinRoles(c.db)...)
		}
		return list, nil
	}
	if array, isArray := v.ArrayOK(); isArray {
		values, err := array.Values()
		if err != nil {
			return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		var list []access.Role
		for _, v := range values {
			role, ok := access.ReadRole(c.db, v)
			if !ok {
				return nil, mongoerr.New(mongoerr.BadValue, "Role names must be either strings or objects")
			}
			list = append(list, role)
		}
		return list, nil
	}
	role, ok := access.ReadRole(c.db, v)
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"rolesInfo takes 1, a name, {role, db} or an array of roles, not %s", args.TypeName(v.Type))
	}
	return []access.Role{role}, nil
}

func (n *node) roleDoc(def *access.Definition, privileges bool) bson.D {
	doc := bson.D{}
	if !def.Builtin {
		doc = append(doc, bson.E{Key: "_id", Value: def.Database + "." + def.Role.Role})
	}
	doc = append(doc,
		bson.E{Key: "role", Value: def.Role.Role}, bson.E{Key: "db", Value: def.Database}, bson.E{Key: "isBuiltin",
			Value: def.Builtin},
		bson.E{Key: "roles", Value: roleDocs(def.Roles)}, bson.E{Key: "inheritedRoles",
			Value: roleDocs(n.users.Inherited(def.Roles))})
	if privileges {
		doc = append(doc,
			bson.E{Key: "privileges", Value: privilegeDocs(def.Privileges)},
			bson.E{Key: "inheritedPrivileges", Value: privilegeDocs(n.users.RoleGrants([]access.Role{def.Role}).Privileges())})
	}
	return doc
}

func roleDocs(roles []access.Role) bson.A {
	docs := bson.A{}
	for _, role := range roles {
		docs = append(docs, role)
	}
	return docs
}

func privilegeDocs(privileges []access.Privilege) bson.A {
	docs := bson.A{}
	for _, p := range privileges {
		docs = append(docs, p.Document())
	}
	return docs
}
