package database

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/script"
)

func collectionMethods() script.Methods[*Collection] {
	return script.Methods[*Collection]{
		{"getName", "", func(c *script.Call, coll *Collection) goja.Value { return c.JS.Runtime.ToValue(coll.name) },
			"Returns the name without the database."},
		{"getFullName", "", func(c *script.Call, coll *Collection) goja.Value {
			return c.JS.Runtime.ToValue(coll.Namespace())
		},
			"Returns the namespace."},
		{"getDB", "", func(_ *script.Call, coll *Collection) goja.Value { return coll.database.object },
			"Returns the database."},
		{"getMongo", "", func(_ *script.Call, coll *Collection) goja.Value { return coll.database.conn.Object() },
			"Returns the connection."},
		{"getCollection", "name:string", func(c *script.Call, coll *Collection) goja.Value {
			return coll.database.CheckedCollection(coll.name + "." + c.Text(0)).object
		}, "Returns the collection whose name starts with this one's."},
		{"runCommand", "command:string|object options?:object", collRunCommand,
			"Runs a command that names this collection."},
		{"toString", "", func(c *script.Call, coll *Collection) goja.Value { return c.JS.Runtime.ToValue(coll.Namespace()) },
			""},
		{"toJSON", "", func(c *script.Call, coll *Collection) goja.Value { return c.JS.Runtime.ToValue(coll.Namespace()) },
			""},
	}
}

func collRunCommand(c *script.Call, coll *Collection) goja.Value {
	if !goja.IsString(c.Arg(0)) {
		if c.Has(1) {
			c.JS.ThrowInvalid("Collection.runCommand takes a command string as its first arugment")
		}
		return coll.host.Display.ReplyValue(coll.host.Gateway.MustSend(coll.database.Request(c.JS.Document(c.Arg(0)))))
	}
	name := c.Text(0)
	if script.Property(c.Object(1), name) != nil {
		c.JS.ThrowInvalid("The \"commandName\" argument cannot be passed as an option to \"runCommand\".")
	}
	return coll.host.Display.ReplyValue(coll.database.Run(c.JS.Merge(bson.D{{Key: name, Value: coll.name}}, c.Arg(1))))
}
