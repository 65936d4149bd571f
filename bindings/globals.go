package bindings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// defineGlobals puts everything scripts see into the global object. What costs
// time to make is made when it is first looked at.
func (s *Shell) defineGlobals() {
	for _, g := range s.functions(printGlobals(), shellGlobals(), legacyGlobals(), consoleGlobals()) {
		s.JS.DefineGlobal(g)
	}
	s.node.Define()
	s.defineDB()
	for name, build := range map[string]func() goja.Value{
		"sh":      func() goja.Value { return s.sharding.Object() },
		"rs":      s.newReplicaSet,
		"mock":    s.newMock,
		"config":  s.newSettings,
		"assert":  s.newAssert,
		"jsTest":  s.newJSTest,
		"Random":  s.newRandom,
		"DBQuery": s.newDBQuery,
		"help":    func() goja.Value { return s.JS.Help.Function(s.help) },
		"Mongo":   s.newMongoConstructor,
	} {
		s.JS.Lazy(name, build)
	}
	for name, build := range s.legacyClasses() {
		s.JS.Lazy(name, build)
	}
	s.defineIt()
}

// defineDB makes db a global that only takes databases (rules/04-objects §6.1). Scripts
// that say "const db = …" at their top level reach this setter too.
func (s *Shell) defineDB() {
	get := func(goja.FunctionCall) goja.Value {
		if s.db == nil {
			s.JS.ThrowCoded(script.InvalidInput, script.CodeNotConnected, "No connected database")
		}
		return s.db.object
	}
	set := func(fc goja.FunctionCall) goja.Value {
		d, ok := script.Receiver[*database](fc.Argument(0))
		if !ok {
			s.JS.ThrowCoded(script.InvalidInput, script.CodeInvalidOperation, "Cannot reassign 'db' to non-Database type")
		}
		s.useDatabase(d)
		return goja.Undefined()
	}
	script.Must(s.JS.Runtime.GlobalObject().DefineAccessorProperty("db", s.JS.Runtime.ToValue(get),
		s.JS.Runtime.ToValue(set), goja.FLAG_TRUE, goja.FLAG_TRUE))
}

func (s *Shell) useDatabase(d *database) {
	s.db = d
	s.cursor = nil
}
