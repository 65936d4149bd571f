package oldshell

import (
	"github.com/dop251/goja"

	"shardsh/bindings/database"
	"shardsh/bindings/script"
)

// Classes returns the classes of the old shell, which support instanceof. A method that a script adds
// to a prototype exists on every object of the class.
func (h Host) Classes() map[string]func() goja.Value {
	return map[string]func() goja.Value{
		"DB": func() goja.Value {
			return h.newClass("DB", "mongo:object name:string", h.Prototypes.Database(), func(c *script.Call) *goja.Object {
				return mongoArgument(c, "DB", 0).CheckedDatabase(c.Text(1)).Object()
			})
		},
		"DBCollection": func() goja.Value {
			return h.newClass("DBCollection", "mongo:object db:object name:string fullName?:string", h.Prototypes.Collection(),
				func(c *script.Call) *goja.Object {
					d, ok := script.Receiver[*database.Database](c.Arg(1))
					if !ok {
						c.ThrowArgument("DBCollection", "db", "a database", script.TypeOf(c.Arg(1)))
					}
					return d.CheckedCollection(c.Text(2)).Object()
				})
		},
		"DBCommandCursor": func() goja.Value { return h.newClassStub("DBCommandCursor", h.Cursors.Prototype()) },
		"BulkWriteResult": func() goja.Value { return h.newClassStub("BulkWriteResult", h.Results.Prototype()) },
		"WriteResult":     func() goja.Value { return h.newClassStub("WriteResult", h.Results.Prototype()) },
		"WriteError":      func() goja.Value { return h.newClassStub("WriteError", h.Results.NamedPrototype("WriteError")) },
		"BulkWriteError": func() goja.Value {
			return h.newClassStub("BulkWriteError", h.JS.Values.Errors.New("MongoBulkWriteError", "").Prototype())
		},
		"WriteCommandError": func() goja.Value {
			return h.newClassStub("WriteCommandError", h.JS.Values.Errors.New("MongoServerError", "").Prototype())
		},
		"DBQuery":          h.newDBQuery,
		"Random":           h.newRandom,
		"jsTest":           h.newJSTest,
		"ErrorCodes":       h.newErrorCodes,
		"ErrorCodeStrings": h.newErrorCodeStrings,
	}
}

// mongoArgument returns an argument that has to be a connection.
func mongoArgument(c *script.Call, label string, i int) *database.Mongo {
	m, ok := script.Receiver[*database.Mongo](c.Arg(i))
	if !ok {
		c.ThrowArgument(label, "mongo", "a connection, such as db.getMongo()", script.TypeOf(c.Arg(i)))
	}
	return m
}

// newClass returns a global class that scripts can instantiate.
func (h Host) newClass(name, signature string, proto *goja.Object, build func(c *script.Call) *goja.Object) goja.Value {
	params := script.ParseSignature(signature)
	return script.NewClass(h.JS, name, proto, func(c *script.Call) *goja.Object {
		c.Check(name, params)
		return build(c)
	})
}

// newClassStub returns a global class that cannot be instantiated, for instanceof and for scripts that
// extend its prototype (rules/04-values-and-language §4.11).
func (h Host) newClassStub(name string, proto *goja.Object) goja.Value {
	return script.NewClass(h.JS, name, proto, func(c *script.Call) *goja.Object {
		c.JS.ThrowType("%s cannot be constructed", name)
		return nil
	})
}

// newDBQuery returns DBQuery, whose shellBatchSize is a setting of config today.
func (h Host) newDBQuery() goja.Value {
	o := h.newClassStub("DBQuery", h.Cursors.Prototype()).(*goja.Object)
	notice := func() {
		h.JS.Out.WarnDeprecated("DBQuery.shellBatchSize is deprecated, please use config.set(\"displayBatchSize\") instead")
	}
	get := h.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
		notice()
		return h.JS.Runtime.ToValue(h.Settings.DisplayBatchSize)
	})
	set := h.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		notice()
		h.Settings.Set("displayBatchSize", fc.Argument(0))
		return goja.Undefined()
	})
	script.Must(o.DefineAccessorProperty("shellBatchSize", get, set, goja.FLAG_TRUE, goja.FLAG_TRUE))
	return o
}
