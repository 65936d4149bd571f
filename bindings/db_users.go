package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// databaseUserMethods() manage users and roles. All of them are one command.
func databaseUserMethods() []method[*database] {
	return []method[*database]{
		{"createUser", "user:object writeConcern?:object", func(c *call, d *database) goja.Value {
			return c.createPrincipal(d, "createUser", "user")
		}, "Creates a user."},
		{"createRole", "role:object writeConcern?:object", func(c *call, d *database) goja.Value {
			return c.createPrincipal(d, "createRole", "role")
		}, "Creates a role."},
		{"updateUser", "name:string changes:object writeConcern?:object", changePrincipal("updateUser"), "Changes a user."},
		{"updateRole", "name:string changes:object writeConcern?:object", changePrincipal("updateRole"), "Changes a role."},
		{"changeUserPassword", "name:string password:string writeConcern?:object", func(c *call, d *database) goja.Value {
			d.run(c.concern(bson.D{{Key: "updateUser", Value: c.text(0)}, {Key: "pwd", Value: c.text(1)}}, 2))
			return c.newObject("ok", 1)
		}, "Changes a user's password."},
		{"dropUser", "name:string writeConcern?:object", dropPrincipal("dropUser"), "Drops a user."},
		{"dropRole", "name:string writeConcern?:object", dropPrincipal("dropRole"), "Drops a role."},
		{"dropAllUsers", "writeConcern?:object", dropAll("dropAllUsersFromDatabase"), "Drops all users of this database."},
		{"dropAllRoles", "writeConcern?:object", dropAll("dropAllRolesFromDatabase"), "Drops all roles of this database."},
		{"grantRolesToUser", "name:string roles:object writeConcern?:object", changeList("grantRolesToUser", "roles"), "Gives roles to a user."},
		{"revokeRolesFromUser", "name:string roles:object writeConcern?:object", changeList("revokeRolesFromUser", "roles"), "Takes roles from a user."},
		{"grantRolesToRole", "name:string roles:object writeConcern?:object", changeList("grantRolesToRole", "roles"), "Gives roles to a role."},
		{"revokeRolesFromRole", "name:string roles:object writeConcern?:object", changeList("revokeRolesFromRole", "roles"), "Takes roles from a role."},
		{"grantPrivilegesToRole", "name:string privileges:object writeConcern?:object", changeList("grantPrivilegesToRole", "privileges"), "Gives privileges to a role."},
		{"revokePrivilegesFromRole", "name:string privileges:object writeConcern?:object", changeList("revokePrivilegesFromRole", "privileges"), "Takes privileges from a role."},
		{"getUser", "name:string options?:object", func(c *call, d *database) goja.Value {
			return c.firstOf(d.run(c.merge(bson.D{{Key: "usersInfo", Value: bson.D{{Key: "user", Value: c.text(0)}, {Key: "db", Value: d.name}}}}, c.arg(1)), reads), "users")
		}, "Returns a user, or null."},
		{"getUsers", "options?:object", func(c *call, d *database) goja.Value {
			return c.reply(d.run(c.merge(command("usersInfo"), c.arg(0)), reads))
		}, "Returns the users of this database."},
		{"getRole", "name:string options?:object", func(c *call, d *database) goja.Value {
			return c.firstOf(d.run(c.merge(bson.D{{Key: "rolesInfo", Value: bson.D{{Key: "role", Value: c.text(0)}, {Key: "db", Value: d.name}}}}, c.arg(1)), reads), "roles")
		}, "Returns a role, or null."},
		{"getRoles", "options?:object", func(c *call, d *database) goja.Value {
			return c.reply(d.run(c.merge(command("rolesInfo"), c.arg(0)), reads))
		}, "Returns the roles of this database."},
		{"auth", "user?:any password?:any", func(c *call, _ *database) goja.Value {
			if !c.has(0) || len(c.args) > 2 {
				c.throwInvalid("auth expects (username), (username, password), or ({ user: username, pwd: password })")
			}
			c.throwCoded(unimplemented, codeNotImplemented, "db.auth() is not supported; give the user in the connection string")
			return nil
		}, ""},
		{"logout", "", func(c *call, d *database) goja.Value {
			d.run(command("logout"))
			return c.newObject("ok", 1)
		}, "Ends the login of this connection."},
	}
}

func (c *call) firstOf(reply bson.Raw, field string) goja.Value {
	list, _ := reply.Lookup(field).ArrayOK()
	docs, err := list.Values()
	if err != nil || len(docs) == 0 {
		return goja.Null()
	}
	return c.world.ToJS(docs[0])
}

// createPrincipal makes a command of a document whose field says the name.
func (c *call) createPrincipal(d *database, name, field string) goja.Value {
	doc := c.object(0)
	for _, required := range []string{field, "roles"} {
		if property(doc, required) == nil {
			c.throwInvalid("Missing required property: %q", required)
		}
	}
	body := c.merge(bson.D{{Key: name, Value: c.value(doc.Get(field))}}, doc, field)
	d.run(c.concern(body, 1))
	return c.newObject("ok", 1)
}

func changePrincipal(name string) func(*call, *database) goja.Value {
	return func(c *call, d *database) goja.Value {
		d.run(c.concern(c.merge(bson.D{{Key: name, Value: c.text(0)}}, c.arg(1)), 2))
		return c.newObject("ok", 1)
	}
}

func changeList(name, field string) func(*call, *database) goja.Value {
	return func(c *call, d *database) goja.Value {
		d.run(c.concern(bson.D{{Key: name, Value: c.text(0)}, {Key: field, Value: c.value(c.arg(1))}}, 2))
		return c.newObject("ok", 1)
	}
}

func dropPrincipal(name string) func(*call, *database) goja.Value {
	return func(c *call, d *database) goja.Value {
		d.run(c.concern(bson.D{{Key: name, Value: c.text(0)}}, 1))
		return c.newObject("ok", 1)
	}
}

func dropAll(name string) func(*call, *database) goja.Value {
	return func(c *call, d *database) goja.Value {
		reply := d.run(c.concern(command(name), 0))
		return c.newObject("n", intOf(reply, "n"), "ok", 1)
	}
}

// concern adds the write concern of argument i.
func (c *call) concern(body bson.D, i int) bson.D {
	if !c.has(i) {
		return body
	}
	return append(body, bson.E{Key: "writeConcern", Value: c.document(c.arg(i))})
}
