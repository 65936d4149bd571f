package access

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// namedRole returns the role that the command's value names in its database.
func (r Request) namedRole() Role {
	return Role{Role: r.Args.Text(r.Name), Database: r.Database}
}

// definition reads the role fields of createRole and updateRole.
func (r Request) definition() (RoleDefinition, error) {
	def := RoleDefinition{Role: r.namedRole()}
	if def.Role.Role == "" {
		return def, mongoerr.New(mongoerr.BadValue, "Role name must be non-empty")
	}
	if r.Args.Has("authenticationRestrictions") {
		return def, mongoerr.New(mongoerr.NotImplemented, "the mock does not support authenticationRestrictions")
	}
	var err error
	if def.Roles, err = ReadRoles(r.Database, r.Body); err != nil {
		return def, err
	}
	def.Privileges, err = r.readPrivileges()
	return def, err
}

// readPrivileges reads the privileges of a role. Only a role on admin may have privileges on other
// databases.
func (r Request) readPrivileges() ([]Privilege, error) {
	if !r.Args.Has("privileges") {
		return nil, nil
	}
	docs, err := args.Documents(r.Args["privileges"])
	if err != nil {
		return nil, err
	}
	var list []Privilege
	for _, doc := range docs {
		p, err := ReadPrivilege(doc)
		if err != nil {
			return nil, err
		}
		if r.Database != "admin" && (p.Resource.Cluster || p.Resource.Any || p.Resource.Database != r.Database) {
			return nil, mongoerr.New(mongoerr.InvalidRoleModification,
				"Roles on the '%s' database cannot be granted privileges that target other databases or the cluster", r.Database)
		}
		list = append(list, p)
	}
	return list, nil
}

// checkRoleDatabases fails if a role outside of admin inherits from a role of another database.
func (r Request) checkRoleDatabases(roles []Role) error {
	if r.Database != "admin" && slices.ContainsFunc(roles, func(of Role) bool { return of.Database != r.Database }) {
		return mongoerr.New(mongoerr.InvalidRoleModification,
			"Roles on the '%s' database cannot be granted roles from other databases", r.Database)
	}
	return nil
}

// CreateRole creates a role with privileges and inherited roles.
func (a *Accounts) CreateRole(r Request) (bson.D, error) {
	def, err := r.definition()
	if err != nil {
		return nil, err
	}
	if err := r.checkRoleDatabases(def.Roles); err != nil {
		return nil, err
	}
	if err := a.Directory.CreateRole(def); err != nil {
		return nil, err
	}
	a.storeRole(def.Role)
	return bson.D{}, nil
}

// UpdateRole changes the given fields of a role.
func (a *Accounts) UpdateRole(r Request) (bson.D, error) {
	def, err := r.definition()
	if err != nil {
		return nil, err
	}
	if !r.Args.Has("roles") && !r.Args.Has("privileges") {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one field to update in updateRole")
	}
	return a.changeRole(r, func(is *RoleDefinition) error {
		if r.Args.Has("roles") {
			is.Roles = def.Roles
		}
		if r.Args.Has("privileges") {
			is.Privileges = def.Privileges
		}
		return nil
	})
}

func (a *Accounts) changeRole(r Request, change func(*RoleDefinition) error) (bson.D, error) {
	role := r.namedRole()
	err := a.Directory.ChangeRole(role, func(is *RoleDefinition) error {
		if err := change(is); err != nil {
			return err
		}
		return r.checkRoleDatabases(is.Roles)
	})
	if err != nil {
		return nil, err
	}
	a.storeRole(role)
	return bson.D{}, nil
}

// DropRole drops a role and revokes it from all users and roles.
func (a *Accounts) DropRole(r Request) (bson.D, error) {
	return bson.D{}, a.removeRole(r.namedRole())
}

// removeRole drops a role and stores the users and roles that this changes.
func (a *Accounts) removeRole(role Role) error {
	changedUsers, changedRoles, err := a.Directory.DropRole(role)
	if err != nil {
		return err
	}
	a.storeRole(role)
	for _, u := range changedUsers {
		a.storeUser(u.Database, u.Name)
	}
	for _, def := range changedRoles {
		a.storeRole(def.Role)
	}
	return nil
}

// DropAllRoles drops all roles of a database and returns their number.
func (a *Accounts) DropAllRoles(r Request) (bson.D, error) {
	n := int32(0)
	for _, def := range a.Directory.Roles() {
		if def.Database != r.Database {
			continue
		}
		if err := a.removeRole(def.Role); err != nil {
			return nil, err
		}
		n++
	}
	return bson.D{{Key: "n", Value: n}}, nil
}

func addRoles(has, given []Role) []Role {
	has = slices.Clone(has)
	for _, role := range given {
		if !slices.Contains(has, role) {
			has = append(has, role)
		}
	}
	return has
}

func removeRoles(has, given []Role) []Role {
	return slices.DeleteFunc(append([]Role{}, has...),
		func(of Role) bool { return slices.Contains(given, of) })
}

// changeUserRoles returns the implementation of grantRolesToUser and revokeRolesFromUser.
func changeUserRoles(change func(has, given []Role) []Role) Command {
	return func(a *Accounts, r Request) (bson.D, error) {
		given, err := a.givenRoles(r)
		if err != nil {
			return nil, err
		}
		name := r.Args.Text(r.Name)
		user, ok := a.Directory.Find(r.Database, name)
		if !ok {
			return nil, UserNotFound(r.Database, name)
		}
		if err := a.Directory.Update(r.Database, name, UserSpec{Roles: change(user.Roles, given)}); err != nil {
			return nil, err
		}
		a.storeUser(r.Database, name)
		return bson.D{}, nil
	}
}

// changeRoleRoles returns the implementation of grantRolesToRole and revokeRolesFromRole.
func changeRoleRoles(change func(has, given []Role) []Role) Command {
	return func(a *Accounts, r Request) (bson.D, error) {
		given, err := a.givenRoles(r)
		if err != nil {
			return nil, err
		}
		return a.changeRole(r, func(is *RoleDefinition) error {
			is.Roles = change(is.Roles, given)
			return nil
		})
	}
}

// givenRoles returns the roles to grant or revoke. It fails if the array is empty or a role does not
// exist.
func (a *Accounts) givenRoles(r Request) ([]Role, error) {
	given, err := ReadRoles(r.Database, r.Body)
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "%s command requires a non-empty \"roles\" array", r.Name)
	}
	for _, role := range given {
		if _, ok := a.Directory.FindRole(role); !ok {
			return nil, RoleNotFound(role)
		}
	}
	return given, nil
}

func addPrivileges(has, given []Privilege) []Privilege { return append(has, given...) }

func removePrivileges(has, given []Privilege) []Privilege {
	var left []Privilege
	for _, p := range has {
		p.Actions = slices.Clone(p.Actions)
		for _, take := range given {
			if take.Resource == p.Resource {
				p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return slices.Contains(take.Actions, a) })
			}
		}
		if len(p.Actions) > 0 {
			left = append(left, p)
		}
	}
	return left
}

// changePrivileges returns the implementation of grantPrivilegesToRole and revokePrivilegesFromRole.
func changePrivileges(change func(has, given []Privilege) []Privilege) Command {
	return func(a *Accounts, r Request) (bson.D, error) {
		given, err := r.readPrivileges()
		if err != nil {
			return nil, err
		}
		if len(given) == 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "%s command requires a non-empty \"privileges\" array", r.Name)
		}
		return a.changeRole(r, func(is *RoleDefinition) error {
			is.Privileges = change(is.Privileges, given)
			return nil
		})
	}
}

// RolesInfo accepts 1 for all roles of the database, a name, a {role, db}, or an array of names and
// documents.
func (a *Accounts) RolesInfo(r Request) (bson.D, error) {
	shows := r.Body.Lookup("showPrivileges")
	if _, isText := shows.StringValueOK(); isText {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the mock does not support showPrivileges: \"asUserFragment\"")
	}
	wanted, err := a.rolesWanted(r, r.Body.Lookup("rolesInfo"))
	if err != nil {
		return nil, err
	}
	list := bson.A{}
	for _, role := range wanted {
		if def, ok := a.Directory.FindRole(role); ok {
			list = append(list, a.roleDoc(def, args.IsTrueOrNonzero(shows)))
		}
	}
	return bson.D{{Key: "roles", Value: list}}, nil
}

func (a *Accounts) rolesWanted(r Request, v bson.RawValue) ([]Role, error) {
	if n, isNumber := args.Number(v); isNumber && n == 1 {
		var list []Role
		for _, def := range a.Directory.Roles() {
			if def.Database == r.Database {
				list = append(list, def.Role)
			}
		}
		if args.IsTrueOrNonzero(r.Body.Lookup("showBuiltinRoles")) {
			list = append(list, BuiltinRoles(r.Database)...)
		}
		return list, nil
	}
	if array, isArray := v.ArrayOK(); isArray {
		values, err := array.Values()
		if err != nil {
			return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		var list []Role
		for _, v := range values {
			role, ok := ReadRole(r.Database, v)
			if !ok {
				return nil, mongoerr.New(mongoerr.BadValue, "Role names must be either strings or objects")
			}
			list = append(list, role)
		}
		return list, nil
	}
	role, ok := ReadRole(r.Database, v)
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue,
			"rolesInfo takes 1, a name, {role, db} or an array of roles, not %s", args.TypeName(v.Type))
	}
	return []Role{role}, nil
}

func (a *Accounts) roleDoc(def *RoleDefinition, privileges bool) bson.D {
	doc := bson.D{}
	if !def.Builtin {
		doc = append(doc, bson.E{Key: "_id", Value: def.Database + "." + def.Role.Role})
	}
	doc = append(doc,
		bson.E{Key: "role", Value: def.Role.Role}, bson.E{Key: "db", Value: def.Database}, bson.E{Key: "isBuiltin",
			Value: def.Builtin},
		bson.E{Key: "roles", Value: RoleDocuments(def.Roles)}, bson.E{Key: "inheritedRoles",
			Value: RoleDocuments(a.Directory.WithInherited(def.Roles))})
	if privileges {
		doc = append(doc,
			bson.E{Key: "privileges", Value: PrivilegeDocuments(def.Privileges)},
			bson.E{Key: "inheritedPrivileges", Value: PrivilegeDocuments(a.Directory.RoleGrants([]Role{def.Role}).Privileges())})
	}
	return doc
}

// RoleDocuments returns roles in the format of command replies.
func RoleDocuments(roles []Role) bson.A {
	docs := bson.A{}
	for _, role := range roles {
		docs = append(docs, role)
	}
	return docs
}

// PrivilegeDocuments returns privileges in the format of command replies.
func PrivilegeDocuments(privileges []Privilege) bson.A {
	docs := bson.A{}
	for _, p := range privileges {
		docs = append(docs, p.Document())
	}
	return docs
}
