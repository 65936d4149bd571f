package access

import (
	"log/slog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Accounts answers the commands on users and roles.
type Accounts struct {
	Directory *Directory
	// Keep stores a user or role by name, and forgets what is nil.
	Keep func(name string, stored bson.Raw)
	Log  *slog.Logger
}

// Command is one of them.
type Command func(*Accounts, Request) (bson.D, error)

// RolePrefix is before the names of roles, which are kept with the users. No
// database's name has a blank.
const RolePrefix = "role "

// storeRole keeps a role as it is now.
func (a *Accounts) storeRole(role Role) {
	name := RolePrefix + role.Database + "." + role.Role
	def, there := a.Directory.FindRole(role)
	if !there {
		a.Keep(name, nil)
		return
	}
	stored, err := def.Stored()
	if err != nil {
		a.Log.Error("role not kept", "role", role.Role, "error", err)
		return
	}
	a.Keep(name, stored)
}

// storeUser keeps a user as it is now.
func (a *Accounts) storeUser(db, name string) {
	user, there := a.Directory.Find(db, name)
	if !there {
		a.Keep(db+"."+name, nil)
		return
	}
	stored, err := user.Stored()
	if err != nil {
		a.Log.Error("user not kept", "user", name, "error", err)
		return
	}
	a.Keep(db+"."+name, stored)
}

// filter reads the filter of usersInfo; nil without one.
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

// Commands returns what answers the commands on users and roles.
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
