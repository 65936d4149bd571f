package database

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// New returns a Host with the classes of its objects.
func New(h Host) *Host {
	host := &h
	host.Classes = classes{h.JS}
	return host
}

// classes builds the prototypes from the tables of methods.
type classes struct{ js *script.Engine }

func (c classes) Database() *goja.Object {
	return script.ClassOf(c.js, "Database", databaseMethods, databaseAdminMethods, databaseUserMethods,
		replicationMethods, databaseOldShellMethods)
}

func (c classes) Collection() *goja.Object {
	return script.ClassOf(c.js, "Collection", collectionMethods, readMethods, writeMethods, indexMethods,
		adminMethods, shardingMethods, collectionOldShellMethods)
}

func (c classes) Session() *goja.Object { return script.ClassOf(c.js, "Session", sessionMethods) }

// Mongo returns the prototype of connections: the methods, and the field that scripts of the old shell
// pass to new Mongo().
func (c classes) Mongo() *goja.Object {
	return c.js.Classes.Cached("Mongo with fields", func() *goja.Object {
		proto := script.ClassOf(c.js, "Mongo", mongoMethods, connectionOldShellMethods)
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
