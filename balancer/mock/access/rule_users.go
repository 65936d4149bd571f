package access

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
)

// MayGrant reports whether the caller has grantRole on the database of every role in the command.
func MayGrant(r Request) bool { return hasActionOnRoles(r, "grantRole") }

// MayRevoke reports whether the caller has revokeRole on the database of every role in the command.
func MayRevoke(r Request) bool { return hasActionOnRoles(r, "revokeRole") }

func hasActionOnRoles(r Request, action Action) bool {
	roles, _ := ReadRoles(r.Database, r.Body)
	return !slices.ContainsFunc(roles, func(role Role) bool {
		return !r.Grants.Allows(DatabaseResource(role.Database), action)
	})
}

// MayGrantPrivileges reports whether the caller has grantRole on the database of each privilege.
func MayGrantPrivileges(r Request) bool { return hasActionOnPrivileges(r, "grantRole") }

// MayRevokePrivileges reports whether the caller has revokeRole on the database of each privilege.
func MayRevokePrivileges(r Request) bool { return hasActionOnPrivileges(r, "revokeRole") }

// hasActionOnPrivileges reports whether the caller has an action on the database of each privilege. A privilege
// without a database counts as one on admin.
func hasActionOnPrivileges(r Request, action Action) bool {
	docs, _ := args.Documents(r.Body.Lookup("privileges"))
	for _, doc := range docs {
		p, err := ReadPrivilege(doc)
		if err != nil {
			continue // the command fails later
		}
		db := p.Resource.Database
		if db == "" {
			db = "admin"
		}
		if !r.Grants.Allows(DatabaseResource(db), action) {
			return false
		}
	}
	return true
}

// MayUpdateUser reports whether the caller may run the command. New roles replace unknown old ones, so
// they require revokeRole on every database.
func MayUpdateUser(r Request) bool {
	own := r.isCaller(r.Database, args.Text(r.Body.Lookup("updateUser")))
	for _, change := range []struct {
		field            string
		action, ownField Action
	}{
		{"pwd", "changePassword", "changeOwnPassword"},
		{"customData", "changeCustomData", "changeOwnCustomData"},
	} {
		if r.Body.Lookup(change.field).IsZero() || r.Grants.Allows(DatabaseResource(r.Database), change.action) {
			continue
		}
		if !own || !r.Grants.Allows(DatabaseResource(r.Database), change.ownField) {
			return false
		}
	}
	return r.Body.Lookup("roles").IsZero() || r.Grants.Allows(DatabaseResource(""), "revokeRole") && MayGrant(r)
}

// MayViewUsers reports whether the caller may view the users. Every user may view themselves.
func MayViewUsers(r Request) bool {
	return mayView(r, r.Body.Lookup("usersInfo"), "user", "viewUser", r.isCaller)
}

// MayViewRoles reports whether the caller may view the roles. Every user may view their own roles.
func MayViewRoles(r Request) bool {
	return mayView(r, r.Body.Lookup("rolesInfo"), "role", "viewRole", func(db, name string) bool {
		if r.Caller == nil {
			return false
		}
		u, ok := r.Directory.Current(r.Caller)
		return ok && slices.Contains(r.Directory.WithInherited(u.Roles), Role{Role: name, Database: db})
	})
}

func mayView(r Request, v bson.RawValue, field string, action Action, own func(db, name string) bool) bool {
	if name, isText := v.StringValueOK(); isText {
		return own(r.Database, name) || r.Grants.Allows(DatabaseResource(r.Database), action)
	}
	if array, isArray := v.ArrayOK(); isArray {
		values, err := array.Values()
		return err == nil &&
			!slices.ContainsFunc(values, func(v bson.RawValue) bool { return !mayView(r, v, field, action, own) })
	}
	doc, isDoc := v.DocumentOK()
	switch {
	case isDoc && args.IsTrueOrNonzero(doc.Lookup("forAllDBs")):
		return r.Grants.Allows(ClusterResource(), action)
	case isDoc:
		db := args.Text(doc.Lookup("db"))
		return own(db, args.Text(doc.Lookup(field))) || r.Grants.Allows(DatabaseResource(db), action)
	}
	return r.Grants.Allows(DatabaseResource(r.Database), action)
}
