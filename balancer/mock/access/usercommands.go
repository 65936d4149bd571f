package access

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// CreateUser creates a user with a password and roles.
func (a *Accounts) CreateUser(r Request) (bson.D, error) {
	if !r.Args.Has("pwd") {
		return nil, mongoerr.New(mongoerr.BadValue,
			"Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db")
	}
	if !r.Args.Has("roles") {
		return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field 'createUser.roles' is missing but a required field")
	}
	draft, err := r.readUserSpec()
	if err != nil {
		return nil, err
	}
	if err := a.Directory.Create(r.Database, r.Args.Text("createUser"), draft); err != nil {
		return nil, err
	}
	a.storeUser(r.Database, r.Args.Text("createUser"))
	return bson.D{}, nil
}

// UpdateUser changes the given fields of a user.
func (a *Accounts) UpdateUser(r Request) (bson.D, error) {
	draft, err := r.readUserSpec()
	if err != nil {
		return nil, err
	}
	if len(r.Args) == 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one field to update in updateUser")
	}
	if err := a.Directory.Update(r.Database, r.Args.Text("updateUser"), draft); err != nil {
		return nil, err
	}
	a.storeUser(r.Database, r.Args.Text("updateUser"))
	return bson.D{}, nil
}

// readUserSpec reads the fields of createUser and updateUser.
func (r Request) readUserSpec() (UserSpec, error) {
	draft := UserSpec{Password: r.Args.Text("pwd"), CustomData: r.Args.Object("customData")}
	if r.Args.Text(r.Name) == "" {
		return draft, mongoerr.New(mongoerr.BadValue, "Username cannot be empty")
	}
	if r.Args.Has("pwd") && draft.Password == "" {
		return draft, mongoerr.New(mongoerr.BadValue, "Password cannot be empty")
	}
	if digest := r.Args["digestPassword"]; !digest.IsZero() && !args.IsTrueOrNonzero(digest) {
		return draft, mongoerr.New(mongoerr.NotImplemented, "the mock supports only digestPassword: true")
	}
	if r.Args.Has("authenticationRestrictions") {
		return draft, mongoerr.New(mongoerr.NotImplemented, "the mock does not support authenticationRestrictions")
	}
	if err := r.readMechanisms(&draft); err != nil {
		return draft, err
	}
	var err error
	draft.Roles, err = ReadRoles(r.Database, r.Body)
	return draft, err
}

func (r Request) readMechanisms(spec *UserSpec) error {
	array, ok := r.Args["mechanisms"].ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, v := range values {
		m := Mechanism(args.Text(v))
		if !m.IsSupported() {
			return mongoerr.New(mongoerr.BadValue, "Unknown auth mechanism '%s'", string(m))
		}
		spec.Mechanisms = append(spec.Mechanisms, m)
	}
	if len(values) == 0 {
		return mongoerr.New(mongoerr.BadValue, "mechanisms field must not be empty")
	}
	if spec.Password == "" {
		return mongoerr.New(mongoerr.BadValue, "mechanisms field is only allowed with a password")
	}
	return nil
}

// DropUser drops a user.
func (a *Accounts) DropUser(r Request) (bson.D, error) {
	name := r.Args.Text("dropUser")
	if !a.Directory.Drop(r.Database, name) {
		return nil, mongoerr.New(mongoerr.UserNotFound, "User '%s@%s' not found", name, r.Database)
	}
	a.storeUser(r.Database, name)
	return bson.D{}, nil
}

// DropAllUsers drops all users of a database and returns their number.
func (a *Accounts) DropAllUsers(r Request) (bson.D, error) {
	n := int32(0)
	for _, u := range a.Directory.Users() {
		if u.Database == r.Database && a.Directory.Drop(u.Database, u.Name) {
			a.storeUser(u.Database, u.Name)
			n++
		}
	}
	return bson.D{{Key: "n", Value: n}}, nil
}

// UsersInfo accepts 1 for all users of the database, {forAllDBs: true}, a name, a {user, db}, or an
// array of names and documents.
func (a *Accounts) UsersInfo(r Request) (bson.D, error) {
	which := r.Body.Lookup("usersInfo")
	wanted, err := r.usersWanted(which)
	if err != nil {
		return nil, err
	}
	if args.IsTrueOrNonzero(r.Body.Lookup("showCredentials")) {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the mock does not support showCredentials")
	}
	privileges := args.IsTrueOrNonzero(r.Body.Lookup("showPrivileges"))
	if doc, isDoc := which.DocumentOK(); privileges && (isNumber(which) || isDoc &&
		args.IsTrueOrNonzero(doc.Lookup("forAllDBs"))) {
		return nil, mongoerr.New(mongoerr.IllegalOperation,
			"Privilege or restriction details require exact-match usersInfo queries")
	}
	query, err := r.filter()
	if err != nil {
		return nil, err
	}
	matching, err := filter.Compile(query)
	if err != nil {
		return nil, err
	}
	custom := r.Body.Lookup("showCustomData")
	list := bson.A{}
	for _, u := range a.Directory.Users() {
		if !wanted(u) {
			continue
		}
		raw, err := bson.Marshal(a.userDoc(u, custom.IsZero() || args.IsTrueOrNonzero(custom), privileges))
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

func (a *Accounts) userDoc(u *User, custom, privileges bool) bson.D {
	doc := bson.D{{Key: "_id", Value: u.Database + "." + u.Name}, {Key: "userId", Value: u.ID},
		{Key: "user", Value: u.Name}, {Key: "db", Value: u.Database}}
	if u.CustomData != nil && custom {
		doc = append(doc, bson.E{Key: "customData", Value: u.CustomData})
	}
	mechanisms := bson.A{}
	for _, m := range u.Mechanisms() {
		mechanisms = append(mechanisms, string(m))
	}
	doc = append(doc, bson.E{Key: "roles", Value: RoleDocuments(u.Roles)}, bson.E{Key: "mechanisms", Value: mechanisms})
	if !privileges {
		return doc
	}
	return append(doc,
		bson.E{Key: "inheritedRoles", Value: RoleDocuments(a.Directory.WithInherited(u.Roles))},
		bson.E{Key: "inheritedPrivileges", Value: PrivilegeDocuments(a.Directory.RoleGrants(u.Roles).Privileges())},
		bson.E{Key: "inheritedAuthenticationRestrictions", Value: bson.A{}},
		bson.E{Key: "authenticationRestrictions", Value: bson.A{}})
}

// usersWanted returns a predicate for the value of usersInfo.
func (r Request) usersWanted(v bson.RawValue) (func(*User) bool, error) {
	one := func(db, name string) func(*User) bool {
		return func(u *User) bool { return u.Database == db && u.Name == name }
	}
	if n, isNumber := args.Number(v); isNumber && n == 1 {
		return func(u *User) bool { return u.Database == r.Database }, nil
	}
	if name, isText := v.StringValueOK(); isText {
		return one(r.Database, name), nil
	}
	if doc, isDoc := v.DocumentOK(); isDoc {
		if args.IsTrueOrNonzero(doc.Lookup("forAllDBs")) {
			return func(*User) bool { return true }, nil
		}
		db, name := args.Text(doc.Lookup("db")), args.Text(doc.Lookup("user"))
		if db == "" || name == "" {
			return nil, mongoerr.New(mongoerr.BadValue, "User names must be either strings or documents {user, db}")
		}
		return one(db, name), nil
	}
	array, isArray := v.ArrayOK()
	if !isArray {
		return nil, mongoerr.New(mongoerr.BadValue,
			"usersInfo takes 1, a name, {user, db}, {forAllDBs: true} or an array of users, not %s", args.TypeName(v.Type))
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	if len(values) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "$and/$or/$nor must be a nonempty array")
	}
	var each []func(*User) bool
	for _, v := range values {
		f, err := r.usersWanted(v)
		if err != nil {
			return nil, err
		}
		each = append(each, f)
	}
	return func(u *User) bool {
		return slices.ContainsFunc(each, func(f func(*User) bool) bool { return f(u) })
	}, nil
}
