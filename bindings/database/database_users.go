package database

import (
	"crypto/md5"
	"encoding/hex"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// databaseUserMethods returns the methods that manage users and roles. Each of them sends one command.
func databaseUserMethods() script.Methods[*Database] {
	return script.Methods[*Database]{
		{"createUser", "user:object writeConcern?:object", createUser,
			"Creates a user; asks for the password when it is missing."},
		{"createRole", "role:object writeConcern?:object", createRole, "Creates a role."},
		{"updateUser", "name:string changes:object writeConcern?:object", updateUser, "Changes a user."},
		{"updateRole", "name:string changes:object writeConcern?:object", updateRole, "Changes a role."},
		{"changeUserPassword", "name:string password?:string writeConcern?:object", changeUserPassword,
			"Changes a user's password; asks for it when it is missing."},
		{"dropUser", "name:string writeConcern?:object", dropPrincipalCommand("dropUser"), "Drops a user."},
		{"dropRole", "name:string writeConcern?:object", dropPrincipalCommand("dropRole"), "Drops a role."},
		{"dropAllUsers", "writeConcern?:object", dropAllCommand("dropAllUsersFromDatabase"),
			"Drops all users of this database."},
		{"dropAllRoles", "writeConcern?:object", dropAllCommand("dropAllRolesFromDatabase"),
			"Drops all roles of this database."},
		{"grantRolesToUser", "name:string roles:object writeConcern?:object", grantOrRevokeCommand("grantRolesToUser",
			"roles"),
			"Gives roles to a user."},
		{
			"revokeRolesFromUser",
			"name:string roles:object writeConcern?:object",
			grantOrRevokeCommand("revokeRolesFromUser", "roles"),
			"Takes roles from a user.",
		},
		{"grantRolesToRole", "name:string roles:object writeConcern?:object", grantOrRevokeCommand("grantRolesToRole",
			"roles"),
			"Gives roles to a role."},
		{
			"revokeRolesFromRole",
			"name:string roles:object writeConcern?:object",
			grantOrRevokeCommand("revokeRolesFromRole", "roles"),
			"Takes roles from a role.",
		},
		{"grantPrivilegesToRole", "name:string privileges:object writeConcern?:object",
			grantOrRevokeCommand("grantPrivilegesToRole", "privileges"),
			"Gives privileges to a role."},
		{"revokePrivilegesFromRole", "name:string privileges:object writeConcern?:object",
			grantOrRevokeCommand("revokePrivilegesFromRole", "privileges"),
			"Takes privileges from a role."},
		{"getUser", "name:string options?:object", principalMethod("user"), "Returns a user, or null."},
		{"getUsers", "options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.Run(c.JS.Merge(server.Command("usersInfo"), c.Arg(0)), server.Repeatable))
		}, "Returns the users of this database."},
		{"getRole", "name:string options?:object", principalMethod("role"), "Returns a role, or null."},
		{"getRoles", "options?:object", func(c *script.Call, d *Database) goja.Value {
			return d.host.Display.ReplyValue(d.Run(c.JS.Merge(server.Command("rolesInfo"), c.Arg(0)), server.Repeatable))
		}, "Returns the roles of this database."},
		{"auth", "user?:string|object password?:any", dbAuth, "Logs in: connects again as that user."},
		{"logout", "", func(_ *script.Call, d *Database) goja.Value {
			d.host.Current.Cursor = nil
			return d.host.Display.ReplyValue(d.Run(server.Command("logout")))
		}, "Ends the login of this connection."},
	}
}

func firstReplyItem(c *script.Call, reply bson.Raw, field string) goja.Value {
	list, _ := reply.Lookup(field).ArrayOK()
	docs, err := list.Values()
	if err != nil || len(docs) == 0 {
		return goja.Null()
	}
	return c.JS.Values.ToJS(docs[0])
}

// createUser asks the user for the password if it is missing.
func createUser(c *script.Call, d *Database) goja.Value {
	o := c.Object(0)
	requireProperties(c, o, "user", "roles")
	body := c.JS.Merge(bson.D{{Key: "createUser", Value: c.JS.BSONValue(o.Get("user"))}}, o, "user", "passwordDigestor")
	switch pwd := script.Property(o, "pwd"); {
	case d.Name == "$external":
		if pwd != nil {
			c.JS.ThrowInvalid("Cannot set password for users on the $external database")
		}
	case pwd == nil:
		typed := d.host.askPassword()
		if typed == nil {
			requireProperties(c, o, "pwd")
		}
		rawdoc.Set(&body, "pwd", c.JS.BSONValue(typed))
	}
	refuseField(c, o, "createUser")
	return d.host.Display.ReplyValue(
		d.Run(writeConcernArgument(c, withDigestedPassword(c, body, o.Get("user").String(), o), 1)),
	)
}

func createRole(c *script.Call, d *Database) goja.Value {
	o := c.Object(0)
	requireProperties(c, o, "role", "privileges", "roles")
	refuseField(c, o, "createRole")
	return d.host.Display.ReplyValue(d.Run(writeConcernArgument(c, c.JS.Merge(bson.D{{Key: "createRole",
		Value: c.JS.BSONValue(o.Get("role"))}},
		o, "role"), 1)))
}

// refuseField throws if a document contains the field of the command's name.
func refuseField(c *script.Call, o *goja.Object, name string) {
	if script.Flag(o, name, false) {
		c.JS.ThrowInvalid("Cannot set %s field in helper method", name)
	}
}

func requireProperties(c *script.Call, o *goja.Object, names ...string) {
	for _, name := range names {
		if script.Property(o, name) == nil {
			c.JS.ThrowInvalid("Missing required property: %q", name)
		}
	}
}

// withDigestedPassword implements passwordDigestor. Old servers require the client to hash the
// password; MongoDB defines the hash function.
func withDigestedPassword(c *script.Call, body bson.D, user string, o *goja.Object) bson.D {
	v := script.Property(o, "passwordDigestor")
	if v == nil {
		return body
	}
	switch v.String() {
	case "server":
		rawdoc.Set(&body, "digestPassword", true)
	case "client":
		pwd := script.OrUndefined(script.Property(o, "pwd"))
		if !goja.IsString(pwd) {
			c.JS.ThrowInvalid("User passwords must be of type string. Was given password with type %s", script.TypeOf(pwd))
		}
		sum := md5.Sum([]byte(user + ":mongo:" + pwd.String()))
		rawdoc.Set(&body, "digestPassword", false)
		rawdoc.Set(&body, "pwd", hex.EncodeToString(sum[:]))
	default:
		c.JS.ThrowInvalid("Invalid field: passwordDigestor must be 'client' or 'server', got %s", v)
	}
	return body
}

func updateUser(c *script.Call, d *Database) goja.Value {
	body := c.JS.Merge(bson.D{{Key: "updateUser", Value: c.Text(0)}}, c.Arg(1), "passwordDigestor")
	return d.host.Display.ReplyValue(d.Run(writeConcernArgument(c, withDigestedPassword(c, body, c.Text(0),
		c.Object(1)), 2)))
}

func updateRole(c *script.Call, d *Database) goja.Value {
	return d.host.Display.ReplyValue(d.Run(writeConcernArgument(c,
		c.JS.Merge(bson.D{{Key: "updateRole", Value: c.Text(0)}},
			c.Arg(1)), 2)))
}

func changeUserPassword(c *script.Call, d *Database) goja.Value {
	return d.host.Display.ReplyValue(d.Run(writeConcernArgument(c, bson.D{{Key: "updateUser", Value: c.Text(0)},
		{Key: "pwd", Value: d.host.passwordArgOrPrompt(c, 1)}}, 2)))
}

func grantOrRevokeCommand(name, field string) func(*script.Call, *Database) goja.Value {
	return func(c *script.Call, d *Database) goja.Value {
		return d.host.Display.ReplyValue(d.Run(writeConcernArgument(c, bson.D{{Key: name, Value: c.Text(0)},
			{Key: field, Value: c.JS.BSONValue(c.Arg(1))}}, 2)))
	}
}

func dropPrincipalCommand(name string) func(*script.Call, *Database) goja.Value {
	return func(c *script.Call, d *Database) goja.Value {
		return d.host.Display.ReplyValue(d.Run(writeConcernArgument(c, bson.D{{Key: name, Value: c.Text(0)}}, 1)))
	}
}

func dropAllCommand(name string) func(*script.Call, *Database) goja.Value {
	return func(c *script.Call, d *Database) goja.Value {
		return d.host.Display.ReplyValue(d.Run(writeConcernArgument(c, server.Command(name), 0)))
	}
}

// writeConcernArgument adds the write concern of argument i.
func writeConcernArgument(c *script.Call, body bson.D, i int) bson.D {
	if !c.Has(i) {
		return body
	}
	return append(body, bson.E{Key: "writeConcern", Value: c.JS.Document(c.Arg(i))})
}

// principalMethod returns a method that returns a user or a role, or null.
func principalMethod(kind string) func(*script.Call, *Database) goja.Value {
	return func(c *script.Call, d *Database) goja.Value {
		command := bson.D{{
			Key: kind + "sInfo", Value: bson.D{{Key: kind, Value: c.Text(0)}, {Key: "db", Value: d.Name}},
		}}
		return firstReplyItem(c, d.Run(c.JS.Merge(command, c.Arg(1)), server.Repeatable), kind+"s")
	}
}
