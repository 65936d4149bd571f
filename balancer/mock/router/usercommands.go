package router

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

func userHandlers() map[string]handler {
	return map[string]handler{
		"createUser":               createUser,
		"updateUser":               updateUser,
		"dropUser":                 dropUser,
		"dropAllUsersFromDatabase": dropAllUsers,
		"usersInfo":                usersInfo,
	}
}

// cutUserName takes "db.user" apart. Database names have no dot, and drivers
// leave the database empty where none was given.
func cutUserName(full string) (db, name string, ok bool) {
	db, name, ok = strings.Cut(full, ".")
	return db, name, ok
}

func createUser(c *call) (bson.D, error) {
	if !c.args.Has("pwd") {
		return nil, mongoerr.New(mongoerr.BadValue,
			"Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db")
	}
	if !c.args.Has("roles") {
		return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field 'createUser.roles' is missing but a required field")
	}
	draft, err := c.userDraft()
	if err != nil {
		return nil, err
	}
	if err := c.node.users.Create(c.db, c.args.Text("createUser"), draft); err != nil {
		return nil, err
	}
	c.node.storeUser(c.db, c.args.Text("createUser"))
	return bson.D{}, nil
}

func updateUser(c *call) (bson.D, error) {
	draft, err := c.userDraft()
	if err != nil {
		return nil, err
	}
	if len(c.args) == 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one field to update in updateUser")
	}
	if err := c.node.users.Update(c.db, c.args.Text("updateUser"), draft); err != nil {
		return nil, err
	}
	c.node.storeUser(c.db, c.args.Text("updateUser"))
	return bson.D{}, nil
}

// userDraft reads what createUser and updateUser say of a user.
func (c *call) userDraft() (access.Draft, error) {
	draft := access.Draft{Password: c.args.Text("pwd"), CustomData: c.args.Object("customData")}
	if c.args.Text(c.invoked) == "" {
		return draft, mongoerr.New(mongoerr.BadValue, "Username cannot be empty")
	}
	if c.args.Has("pwd") && draft.Password == "" {
		return draft, mongoerr.New(mongoerr.BadValue, "Password cannot be empty")
	}
	if digest := c.args["digestPassword"]; !digest.IsZero() && !args.Truth(digest) {
		return draft, mongoerr.New(mongoerr.NotImplemented, "the mock takes passwords with digestPassword: true only")
	}
	if c.args.Has("authenticationRestrictions") {
		return draft, mongoerr.New(mongoerr.NotImplemented, "the mock does not support authenticationRestrictions")
	}
	if err := c.readMechanisms(&draft); err != nil {
		return draft, err
	}
	var err error
	draft.Roles, err = access.ReadRoles(c.db, c.body)
	return draft, err
}

func (c *call) readMechanisms(draft *access.Draft) error {
	array, ok := c.args["mechanisms"].ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, v := range values {
		m := access.Mechanism(args.Text(v))
		if !m.Known() {
			return mongoerr.New(mongoerr.BadValue, "Unknown auth mechanism '%s'", string(m))
		}
		draft.Mechanisms = append(draft.Mechanisms, m)
	}
	if len(values) == 0 {
		return mongoerr.New(mongoerr.BadValue, "mechanisms field must not be empty")
	}
	if draft.Password == "" {
		return mongoerr.New(mongoerr.BadValue, "mechanisms field is only allowed with a password")
	}
	return nil
}

func dropUser(c *call) (bson.D, error) {
	name := c.args.Text("dropUser")
	if !c.node.users.Drop(c.db, name) {
		return nil, mongoerr.New(mongoerr.UserNotFound, "User '%s@%s' not found", name, c.db)
	}
	c.node.storeUser(c.db, name)
	return bson.D{}, nil
}

func dropAllUsers(c *call) (bson.D, error) {
	n := int32(0)
	for _, u := range c.node.users.All() {
		if u.Database == c.db && c.node.users.Drop(u.Database, u.Name) {
			c.node.storeUser(u.Database, u.Name)
			n++
		}
	}
	return bson.D{{Key: "n", Value: n}}, nil
}

// usersInfo takes 1 for all of the database, {forAllDBs: true}, a name, a
// {user, db}, or an array of such.
func usersInfo(c *call) (bson.D, error) {
	which := c.body.Lookup("usersInfo")
	wanted, err := c.usersWanted(which)
	if err != nil {
		return nil, err
	}
	if args.Truth(c.body.Lookup("showCredentials")) {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the mock shows nobody's credentials")
	}
	privileges := args.Truth(c.body.Lookup("showPrivileges"))
	if doc, isDoc := which.DocumentOK(); privileges && (isNumber(which) || isDoc && args.Truth(doc.Lookup("forAllDBs"))) {
		return nil, mongoerr.New(mongoerr.IllegalOperation,
			"Privilege or restriction details require exact-match usersInfo queries")
	}
	filter, err := c.document("filter")
	if err != nil {
		return nil, err
	}
	matching, err := store.CompileFilter(filter)
	if err != nil {
		return nil, err
	}
	custom := c.body.Lookup("showCustomData")
	list := bson.A{}
	for _, u := range c.node.users.All() {
		if !wanted(u) {
			continue
		}
		raw, err := bson.Marshal(c.node.userDoc(u, custom.IsZero() || args.Truth(custom), privileges))
		if err != nil {
			return nil, err
		}
		if matching.Match(raw) {
			list = append(list, bson.Raw(raw))
		}
	}
	return bson.D{{Key: "users", Value: list}}, nil
}

func isNumber(v bson.RawValue) bool {
	_, ok := args.Number(v)
	return ok
}

func (n *node) userDoc(u *access.User, custom, privileges bool) bson.D {
	doc := bson.D{{Key: "_id", Value: u.Database + "." + u.Name}, {Key: "userId", Value: u.ID},
		{Key: "user", Value: u.Name}, {Key: "db", Value: u.Database}}
	if u.CustomData != nil && custom {
		doc = append(doc, bson.E{Key: "customData", Value: u.CustomData})
	}
	mechanisms := bson.A{}
	for _, m := range u.Mechanisms() {
		mechanisms = append(mechanisms, string(m))
	}
	doc = append(doc, bson.E{Key: "roles", Value: roleDocs(u.Roles)}, bson.E{Key: "mechanisms", Value: mechanisms})
	if !privileges {
		return doc
	}
	return append(doc,
		bson.E{Key: "inheritedRoles", Value: roleDocs(n.users.Inherited(u.Roles))},
		bson.E{Key: "inheritedPrivileges", Value: privilegeDocs(n.users.RoleGrants(u.Roles).Privileges())},
		bson.E{Key: "inheritedAuthenticationRestrictions", Value: bson.A{}},
		bson.E{Key: "authenticationRestrictions", Value: bson.A{}})
}

// usersWanted compiles the value of usersInfo.
func (c *call) usersWanted(v bson.RawValue) (func(*access.User) bool, error) {
	one := func(db, name string) func(*access.User) bool {
		return func(u *access.User) bool { return u.Database == db && u.Name == name }
	}
	if n, isNumber := args.Number(v); isNumber && n == 1 {
		return func(u *access.User) bool { return u.Database == c.db }, nil
	}
	if name, isText := v.StringValueOK(); isText {
		return one(c.db, name), nil
	}
	if doc, isDoc := v.DocumentOK(); isDoc {
		if args.Truth(doc.Lookup("forAllDBs")) {
			return func(*access.User) bool { return true }, nil
		}
		return one(args.Text(doc.Lookup("db")), args.Text(doc.Lookup("user"))), nil
	}
	array, isArray := v.ArrayOK()
	if !isArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"usersInfo takes 1, a name, {user, db}, {forAllDBs: true} or an array of users, not %s", args.TypeName(v.Type))
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	var each []func(*access.User) bool
	for _, v := range values {
		f, err := c.usersWanted(v)
		if err != nil {
			return nil, err
		}
		each = append(each, f)
	}
	return func(u *access.User) bool {
		return slices.ContainsFunc(each, func(f func(*access.User) bool) bool { return f(u) })
	}, nil
}
