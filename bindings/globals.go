package bindings

import (
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// defineGlobals puts everything scripts see into the global object. What costs
// time to make is made when it is first looked at.
func (s *Shell) defineGlobals() {
	for _, table := range [][]global{printGlobals(), shellGlobals(), legacyGlobals(), fileGlobals(), consoleGlobals()} {
		s.defineFunctions(table)
	}
	s.defineDB()
	for name, build := range map[string]func() goja.Value{
		"sh":              func() goja.Value { return s.sharding.Object() },
		"rs":              s.newReplicaSet,
		"mock":            s.newMock,
		"console":         s.newConsole,
		"process":         s.newProcess,
		"config":          s.newSettings,
		"log":             s.newLog,
		"assert":          s.newAssert,
		"Random":          s.newRandom,
		"DBQuery":         s.newDBQuery,
		"help":            func() goja.Value { return s.JS.HelpFunction(s.help) },
		"Mongo":           s.newMongoConstructor,
		"require":         func() goja.Value { return s.JS.NewRequire("") },
		"fs":              func() goja.Value { return s.module("fs") },
		"path":            func() goja.Value { return s.module("path") },
		"os":              func() goja.Value { return s.module("os") },
		"util":            func() goja.Value { return s.module("util") },
		"crypto":          func() goja.Value { return s.module("crypto") },
		"global":          func() goja.Value { return s.JS.Runtime.GlobalObject() },
		"structuredClone": s.newStructuredClone,
		"performance":     s.newPerformance,
	} {
		s.JS.Lazy(name, build)
	}
	for name, build := range s.legacyClasses() {
		s.JS.Lazy(name, build)
	}
	for _, name := range []string{"Buffer", "TextEncoder", "TextDecoder"} {
		s.JS.Lazy(name, func() goja.Value { return s.bytesGlobal(name) })
	}
	for _, name := range []string{"AbortController", "AbortSignal", "Event", "EventTarget", "atob", "btoa", "fetch"} {
		s.JS.Lazy(name, func() goja.Value { return s.webGlobal(name) })
	}
	for _, name := range []string{"URL", "URLSearchParams"} {
		s.JS.Lazy(name, func() goja.Value { return s.module("url").(*goja.Object).Get(name) })
	}
	for _, name := range []string{"url", "events", "timers"} {
		s.JS.Lazy(name, func() goja.Value { return s.module(name) })
	}
	s.defineIt()
}

// defineDB makes db a global that only takes databases (spec 04 §6.1). Scripts
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
	script.Must(s.JS.Runtime.GlobalObject().DefineAccessorProperty("db", s.JS.Runtime.ToValue(get), s.JS.Runtime.ToValue(set), goja.FLAG_TRUE, goja.FLAG_TRUE))
}

func (s *Shell) useDatabase(d *database) {
	s.db = d
	s.cursor = nil
}
