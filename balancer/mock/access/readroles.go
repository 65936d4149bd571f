package access

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// ReadRoles reads the roles field of a command. An element is a role name of the command's database or
// {role, db}. It returns nil if the field is missing.
func ReadRoles(database string, body bson.Raw) ([]Role, error) {
	array, ok := body.Lookup("roles").ArrayOK()
	if !ok {
		return nil, nil
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	roles := []Role{}
	for _, v := range values {
		role, ok := ReadRole(database, v)
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "Role names must be either strings or objects")
		}
		roles = append(roles, role)
	}
	return roles, nil
}

// ReadRole reads a role: the name of a role of the command's database, or {role, db}.
func ReadRole(database string, v bson.RawValue) (Role, bool) {
	if name, isText := v.StringValueOK(); isText {
		return Role{Role: name, Database: database}, true
	}
	doc, isDoc := v.DocumentOK()
	role := Role{Role: args.Text(doc.Lookup("role")), Database: args.Text(doc.Lookup("db"))}
	return role, isDoc && role.Role != ""
}
