package bindings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/assert"
	"shardsh/bindings/database"
	"shardsh/bindings/mock"
	"shardsh/bindings/replicaset"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/settings"
)

// defineGlobals defines all globals of scripts. Expensive ones are built on first access.
func (s *Shell) defineGlobals() {
	tables := []script.Globals{s.printGlobals(), s.shellGlobals(), s.oldShell.Globals(), s.console.Globals()}
	for _, table := range tables {
		for _, g := range table.List() {
			s.JS.DefineGlobal(g)
		}
	}
	s.node.Define()
	s.defineDB()
	for name, build := range map[string]func() goja.Value{
		"sh": func() goja.Value { return s.sharding.Object() },
		"rs": func() goja.Value {
			return replicaset.New(replicaset.Host{JS: s.JS, Gateway: s.gateway, Display: s.display,
				DB: s.current.ServerDatabase})
		},
		"mock": func() goja.Value {
			return mock.New(mock.Host{JS: s.JS, Gateway: s.gateway, Reply: s.display.ReplyValue, DB: s.current.ServerDatabase})
		},
		"config": func() goja.Value { return settings.Object(s.JS, s.display.Inspect, s.settings) },
		"assert": func() goja.Value {
			return assert.New(&assert.Host{
				JS: s.JS, Inspect: s.display.Inspect, OldJSON: func(v goja.Value) string { return s.oldShell.JSON(v, true) },
			})
		},
		"help":  func() goja.Value { return s.JS.Help.NewHelp(s.help) },
		"Mongo": s.database.MongoConstructor,
	} {
		s.JS.DefineLazyGlobal(name, build)
	}
	for name, build := range s.oldShell.Classes() {
		s.JS.DefineLazyGlobal(name, build)
	}
	s.defineIt()
}

// defineDB makes db a global that accepts only databases (rules/04-objects §6.1). "const db = …" at the
// top level of a script also reaches this setter.
func (s *Shell) defineDB() {
	get := func(goja.FunctionCall) goja.Value {
		server.RequireDatabase(s.JS, s.current.ServerDatabase())
		return s.current.DB.Object()
	}
	set := func(fc goja.FunctionCall) goja.Value {
		d, ok := script.Receiver[*database.Database](fc.Argument(0))
		if !ok {
			s.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeInvalidOperation,
				"Cannot reassign 'db' to non-Database type")
		}
		s.current.Use(d)
		return goja.Undefined()
	}
	script.Must(s.JS.Runtime.GlobalObject().DefineAccessorProperty("db", s.JS.Runtime.ToValue(get),
		s.JS.Runtime.ToValue(set), goja.FLAG_TRUE, goja.FLAG_TRUE))
}

// defineIt makes the global it, which returns the next page when it is read.
func (s *Shell) defineIt() {
	global := s.JS.Runtime.GlobalObject()
	settle := func(v goja.Value) {
		script.Must(global.DefineDataProperty("it", v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	get := func(goja.FunctionCall) goja.Value {
		cur := s.current.Cursor
		if cur == nil || cur.ClosedBeforeOpen() || !cur.HasNext() {
			s.current.Cursor = nil
			return s.JS.Runtime.ToValue("no cursor")
		}
		return cur.Object
	}
	set := func(fc goja.FunctionCall) goja.Value {
		settle(fc.Argument(0))
		return goja.Undefined()
	}
	script.Must(global.DefineAccessorProperty("it", s.JS.Runtime.ToValue(get), s.JS.Runtime.ToValue(set),
		goja.FLAG_TRUE, goja.FLAG_FALSE))
}
