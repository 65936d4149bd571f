package access

import (
	"log/slog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Accounts runs the user and role management commands.
type Accounts struct {
	Directory *Directory
	// Store persists a user or role under name; a nil value deletes the entry.
	Store func(name string, stored bson.Raw)
	Log   *slog.Logger
}

// Command implements one user or role management command.
type Command func(*Accounts, Request) (bson.D, error)

// StoredRolePrefix is the prefix of the storage names of roles, which are stored next to the users. A
// database name never contains a space, so the names cannot collide.
const StoredRolePrefix = "role "

// storeRole persists the current state of a role.
func (a *Accounts) storeRole(role Role) {
	name := StoredRolePrefix + role.Database + "." + role.Role
	def, ok := a.Directory.FindRole(role)
	if !ok {
		a.Store(name, nil)
		return
	}
	stored, err := def.Stored()
	if err != nil {
		a.Log.Error("role not kept", "role", role.Role, "error", err)
		return
	}
	a.Store(name, stored)
}

// storeUser persists the current state of a user.
func (a *Accounts) storeUser(db, name string) {
	user, ok := a.Directory.Find(db, name)
	if !ok {
		a.Store(db+"."+name, nil)
		return
	}
	stored, err := user.Stored()
	if err != nil {
		a.Log.Error("user not kept", "user", name, "error", err)
		return
	}
	a.Store(db+"."+name, stored)
}

// filter reads the filter of usersInfo. It returns nil without one.
func (r Request) filter() (bson.Raw, error) {
	v := r.Body.Lookup("filter")
	if v.IsZero() || v.Type == bson.TypeNull {
		return nil, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.filter' is the wrong type '%s', expected type 'object'", r.Name, args.TypeName(v.Type))
	}
	return doc, nil
}

// Commands returns the implementations of the user and role management commands by command name.
func Commands() map[string]Command {
	return map[string]Command{
		"createUser":               (*Accounts).CreateUser,
		"updateUser":               (*Accounts).UpdateUser,
		"dropUser":                 (*Accounts).DropUser,
		"dropAllUsersFromDatabase": (*Accounts).DropAllUsers,
		"usersInfo":                (*Accounts).UsersInfo,
		"createRole":               (*Accounts).CreateRole,
		"updateRole":               (*Accounts).UpdateRole,
		"dropRole":                 (*Accounts).DropRole,
		"dropAllRolesFromDatabase": (*Accounts).DropAllRoles,
		"rolesInfo":                (*Accounts).RolesInfo,
		"grantRolesToUser":         changeUserRoles(addRoles),
		"revokeRolesFromUser":      changeUserRoles(removeRoles),
		"grantRolesToRole":         changeRoleRoles(addRoles),
		"revokeRolesFromRole":      changeRoleRoles(removeRoles),
		"grantPrivilegesToRole":    changePrivileges(addPrivileges),
		"revokePrivilegesFromRole": changePrivileges(removePrivileges),
	}
}
