package router

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/users"
	"shardsh/balancer/mongoerr"
)

func userCommands() []command {
	fields := func(name string) []field {
		return []field{
			{name, stringValue, true}, {"pwd", stringValue, false}, {"roles", arrayValue, false}, {"customData", objectValue, false},
			{"mechanisms", arrayValue, false}, {"digestPassword", boolValue, false}, {"authenticationRestrictions", arrayValue, false},
		}
	}
	return []command{
		{name: "createUser", takesWriteConcern: true, strict: true, declared: fields("createUser"), run: (*Router).createUser},
		{name: "updateUser", takesWriteConcern: true, strict: true, declared: fields("updateUser"), run: (*Router).updateUser},
		{name: "dropUser", takesWriteConcern: true, strict: true, declared: []field{{"dropUser", stringValue, true}}, run: (*Router).dropUser},
		{name: "dropAllUsersFromDatabase", takesWriteConcern: true, run: (*Router).dropAllUsers},
		{name: "usersInfo", run: (*Router).usersInfo},
	}
}

// roleNames are the built-in roles. Privileges are not checked, so a role of
// another name would only look as if it meant something.
var roleNames = []string{
	"read", "readWrite", "dbAdmin", "dbOwner", "userAdmin", "clusterAdmin", "clusterManager", "clusterMonitor", "hostManager",
	"backup", "restore", "readAnyDatabase", "readWriteAnyDatabase", "userAdminAnyDatabase", "dbAdminAnyDatabase", "root",
	"enableSharding", "directShardOperations", "__system",
}

// cutUserName takes "db.user" apart. Database names have no dot, and drivers
// leave the database empty where none was given.
func cutUserName(full string) (db, name string, ok bool) {
	db, name, ok = strings.Cut(full, ".")
	return db, name, ok
}

func (r *Router) createUser(c *call) (bson.D, error) {
	if !c.args.has("pwd") {
		return nil, mongoerr.New(mongoerr.BadValue, "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db")
	}
	if !c.args.has("roles") {
		return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field 'createUser.roles' is missing but a required field")
	}
	draft, err := c.userDraft()
	if err != nil {
		return nil, err
	}
	if err := r.users.Create(c.db, c.args.text("createUser"), draft); err != nil {
		return nil, err
	}
	r.keepUser(c.db, c.args.text("createUser"))
	return bson.D{}, nil
}

func (r *Router) updateUser(c *call) (bson.D, error) {
	draft, err := c.userDraft()
	if err != nil {
		return nil, err
	}
	if len(c.args) == 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one field to update in updateUser")
	}
	if err := r.users.Update(c.db, c.args.text("updateUser"), draft); err != nil {
		return nil, err
	}
	r.keepUser(c.db, c.args.text("updateUser"))
	return bson.D{}, nil
}

// userDraft reads what createUser and updateUser say of a user.
func (c *call) userDraft() (users.Draft, error) {
	draft := users.Draft{Password: c.args.text("pwd"), CustomData: c.args.object("customData")}
	if c.args.text(c.invoked) == "" {
		return draft, mongoerr.New(mongoerr.BadValue, "Username cannot be empty")
	}
	if c.args.has("pwd") && draft.Password == "" {
		return draft, mongoerr.New(mongoerr.BadValue, "Password cannot be empty")
	}
	if digest := c.args["digestPassword"]; !digest.IsZero() && !truth(digest) {
		return draft, mongoerr.New(mongoerr.NotImplemented, "the mock takes passwords with digestPassword: true only")
	}
	if c.args.has("authenticationRestrictions") {
		return draft, mongoerr.New(mongoerr.NotImplemented, "the mock does not support authenticationRestrictions")
	}
	if err := c.readMechanisms(&draft); err != nil {
		return draft, err
	}
	return draft, c.readRoles(&draft)
}

func (c *call) readMechanisms(draft *users.Draft) error {
	array, ok := c.args["mechanisms"].ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, v := range values {
		m := users.Mechanism(textOf(v))
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

func textOf(v bson.RawValue) string {
	text, _ := v.StringValueOK()
	return text
}

// readRoles reads a role by its name, in the command's database, or as
// {role, db}.
func (c *call) readRoles(draft *users.Draft) error {
	array, ok := c.args["roles"].ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	draft.Roles = []users.Role{}
	for _, v := range values {
		role := users.Role{Role: textOf(v), Database: c.db}
		if doc, isDoc := v.DocumentOK(); isDoc {
			role = users.Role{Role: textOf(doc.Lookup("role")), Database: textOf(doc.Lookup("db"))}
		}
		if !slices.Contains(roleNames, role.Role) {
			return mongoerr.New(mongoerr.RoleNotFound, "Could not find role: %s@%s", role.Role, role.Database)
		}
		draft.Roles = append(draft.Roles, role)
	}
	return nil
}

func (r *Router) dropUser(c *call) (bson.D, error) {
	name := c.args.text("dropUser")
	if !r.users.Drop(c.db, name) {
		return nil, mongoerr.New(mongoerr.UserNotFound, "User '%s@%s' not found", name, c.db)
	}
	r.keepUser(c.db, name)
	return bson.D{}, nil
}

func (r *Router) dropAllUsers(c *call) (bson.D, error) {
	n := int32(0)
	for _, u := range r.users.All() {
		if u.Database == c.db && r.users.Drop(u.Database, u.Name) {
			r.keepUser(u.Database, u.Name)
			n++
		}
	}
	return bson.D{{Key: "n", Value: n}}, nil
}

// usersInfo takes 1 for all of the database, {forAllDBs: true}, a name, a
// {user, db}, or an array of such.
func (r *Router) usersInfo(c *call) (bson.D, error) {
	wanted, err := c.usersWanted(c.body.Lookup("usersInfo"))
	if err != nil {
		return nil, err
	}
	list := bson.A{}
	for _, u := range r.users.All() {
		if !wanted(u) {
			continue
		}
		doc := bson.D{{Key: "_id", Value: u.Database + "." + u.Name}, {Key: "userId", Value: u.ID}, {Key: "user", Value: u.Name}, {Key: "db", Value: u.Database}}
		if u.CustomData != nil {
			doc = append(doc, bson.E{Key: "customData", Value: u.CustomData})
		}
		mechanisms := bson.A{}
		for _, m := range u.Mechanisms() {
			mechanisms = append(mechanisms, string(m))
		}
		roles := bson.A{}
		for _, role := range u.Roles {
			roles = append(roles, role)
		}
		list = append(list, append(doc, bson.E{Key: "roles", Value: roles}, bson.E{Key: "mechanisms", Value: mechanisms}))
	}
	return bson.D{{Key: "users", Value: list}}, nil
}

// usersWanted compiles the value of usersInfo.
func (c *call) usersWanted(v bson.RawValue) (func(*users.User) bool, error) {
	one := func(db, name string) func(*users.User) bool {
		return func(u *users.User) bool { return u.Database == db && u.Name == name }
	}
	if n, isNumber := numberOf(v); isNumber && n == 1 {
		return func(u *users.User) bool { return u.Database == c.db }, nil
	}
	if name, isText := v.StringValueOK(); isText {
		return one(c.db, name), nil
	}
	if doc, isDoc := v.DocumentOK(); isDoc {
		if truth(doc.Lookup("forAllDBs")) {
			return func(*users.User) bool { return true }, nil
		}
		return one(textOf(doc.Lookup("db")), textOf(doc.Lookup("user"))), nil
	}
	array, isArray := v.ArrayOK()
	if !isArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "usersInfo takes 1, a name, {user, db}, {forAllDBs: true} or an array of users, not %s", typeName(v.Type))
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	var each []func(*users.User) bool
	for _, v := range values {
		f, err := c.usersWanted(v)
		if err != nil {
			return nil, err
		}
		each = append(each, f)
	}
	return func(u *users.User) bool {
		return slices.ContainsFunc(each, func(f func(*users.User) bool) bool { return f(u) })
	}, nil
}
