package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// mayGrant: whoever grants a role needs grantRole on its database.
func mayGrant(a asking) bool { return onRoles(a, "grantRole") }

func mayRevoke(a asking) bool { return onRoles(a, "revokeRole") }

func onRoles(a asking, action access.Action) bool {
	roles, _ := a.readRoles()
	return !slices.ContainsFunc(roles, func(r access.Role) bool { return !a.may.Allows(access.In(r.Database), action) })
}

func mayGrantPrivileges(a asking) bool { return onPrivileges(a, "grantRole") }

func mayRevokePrivileges(a asking) bool { return onPrivileges(a, "revokeRole") }

// onPrivileges wants an action on the database of each privilege, on admin
// where it is of no database.
func onPrivileges(a asking, action access.Action) bool {
	docs, _ := args.Documents(a.body.Lookup("privileges"))
	for _, doc := range docs {
		p, err := access.ReadPrivilege(doc)
		if err != nil {
			continue // the command fails
		}
		db := p.Resource.Database
		if db == "" {
			db = "admin"
		}
		if !a.may.Allows(access.In(db), action) {
			return false
		}
	}
	return true
}

// mayUpdateUser: nobody knows which roles go when others are given, so that
// takes the right to revoke any.
func mayUpdateUser(a asking) bool {
	own := a.peer.is(&access.User{Name: args.Text(a.body.Lookup("updateUser")), Database: a.db})
	for _, change := range []struct {
		field            string
		action, ownField access.Action
	}{
		{"pwd", "changePassword", "changeOwnPassword"},
		{"customData", "changeCustomData", "changeOwnCustomData"},
	} {
		if a.body.Lookup(change.field).IsZero() || a.may.Allows(access.In(a.db), change.action) {
			continue
		}
		if !own || !a.may.Allows(access.In(a.db), change.ownField) {
			return false
		}
	}
	return a.body.Lookup("roles").IsZero() || a.may.Allows(access.In(""), "revokeRole") && mayGrant(a)
}

// mayViewUsers: everybody may see themselves.
func mayViewUsers(a asking) bool {
	return mayView(a, a.body.Lookup("usersInfo"), "user", "viewUser", func(db, name string) bool {
		return a.peer.is(&access.User{Name: name, Database: db})
	})
}

// mayViewRoles: everybody may see the roles they have.
func mayViewRoles(a asking) bool {
	return mayView(a, a.body.Lookup("rolesInfo"), "role", "viewRole", func(db, name string) bool {
		u := a.node.user(a.peer)
		return u != nil && slices.Contains(a.node.users.Inherited(u.Roles), access.Role{Role: name, Database: db})
	})
}

func mayView(a asking, v bson.RawValue, field string, action access.Action, own func(db, name string) bool) bool {
	if name, isText := v.StringValueOK(); isText {
		return own(a.db, name) || a.may.Allows(access.In(a.db), action)
	}
	if array, isArray := v.ArrayOK(); isArray {
		values, err := array.Values()
		return err == nil && !slices.ContainsFunc(values, func(v bson.RawValue) bool { return !mayView(a, v, field, action, own) })
	}
	doc, isDoc := v.DocumentOK()
	switch {
	case isDoc && args.Truth(doc.Lookup("forAllDBs")):
		return a.may.Allows(access.TheCluster(), action)
	case isDoc:
		db := args.Text(doc.Lookup("db"))
		return own(db, args.Text(doc.Lookup(field))) || a.may.Allows(access.In(db), action)
	}
	return a.may.Allows(access.In(a.db), action)
}
