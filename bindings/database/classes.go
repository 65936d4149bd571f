package database

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// New returns a Host with the classes of its objects.
func New(h Host) *Host {
	host := &h
	host.Prototypes = prototypeBuilder{h.JS}
	return host
}

// prototypeBuilder builds the prototypes from the tables of methods.
type prototypeBuilder struct{ js *script.Engine }

func (c prototypeBuilder) Database() *goja.Object {
	return script.PrototypeFromTables(c.js, "Database", databaseMethods, databaseAdminMethods, databaseUserMethods,
		replicationMethods, databaseOldShellMethods)
}

func (c prototypeBuilder) Collection() *goja.Object {
	return script.PrototypeFromTables(c.js, "Collection", collectionMethods, readMethods, writeMethods, indexMethods,
		adminMethods, shardingMethods, collectionOldShellMethods)
}

func (c prototypeBuilder) Session() *goja.Object {
	return script.PrototypeFromTables(c.js, "Session", sessionMethods)
}

// Mongo returns the prototype of connections: the methods, and the field that scripts of the old shell
// pass to new Mongo().
func (c prototypeBuilder) Mongo() *goja.Object {
	return c.js.Classes.BuildOnce("Mongo with fields", func() *goja.Object {
		proto := script.PrototypeFromTables(c.js, "Mongo", mongoMethods, connectionOldShellMethods)
		host := c.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
			m, ok := script.Receiver[*Mongo](fc.This)
			if !ok {
				return goja.Undefined()
			}
			return c.js.Runtime.ToValue(m.hosts())
		})
		script.Must(proto.DefineAccessorProperty("host", host, nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
		return proto
	})
}
