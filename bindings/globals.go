package bindings

import (
	"strings"

	"github.com/dop251/goja"
)

// global is a function scripts find under its name.
type global struct {
	name, signature string
	call            func(c *call) goja.Value
	help            string
}

// defineGlobals puts everything scripts see into the global object. What costs
// time to make is made when it is first looked at.
func (s *Shell) defineGlobals() {
	for _, table := range [][]global{printGlobals(), shellGlobals(), legacyGlobals(), fileGlobals(), consoleGlobals()} {
		for _, g := range table {
			s.lazy(g.name, func() goja.Value { return s.globalFunction(g) })
		}
	}
	s.defineDB()
	s.defineTimers()
	for name, build := range map[string]func() goja.Value{
		"sh":              s.newShard,
		"rs":              s.newReplicaSet,
		"mock":            s.newMock,
		"console":         s.newConsole,
		"process":         s.newProcess,
		"config":          s.newSettings,
		"log":             s.newLog,
		"assert":          s.newAssert,
		"Random":          s.newRandom,
		"DBQuery":         s.newDBQuery,
		"help":            func() goja.Value { return s.helpFunction(shellHelp) },
		"Mongo":           s.newMongoConstructor,
		"require":         func() goja.Value { return s.newRequire("") },
		"fs":              func() goja.Value { return s.module("fs") },
		"path":            func() goja.Value { return s.module("path") },
		"os":              func() goja.Value { return s.module("os") },
		"util":            func() goja.Value { return s.module("util") },
		"crypto":          func() goja.Value { return s.module("crypto") },
		"global":          func() goja.Value { return s.rt.GlobalObject() },
		"structuredClone": s.newStructuredClone,
		"performance":     s.newPerformance,
	} {
		s.lazy(name, build)
	}
	for name, build := range s.legacyClasses() {
		s.lazy(name, build)
	}
	for _, name := range []string{"Buffer", "TextEncoder", "TextDecoder"} {
		s.lazy(name, func() goja.Value { return s.bytesGlobal(name) })
	}
	for _, name := range []string{"AbortController", "AbortSignal", "Event", "EventTarget", "atob", "btoa", "fetch"} {
		s.lazy(name, func() goja.Value { return s.webGlobal(name) })
	}
	for _, name := range []string{"URL", "URLSearchParams"} {
		s.lazy(name, func() goja.Value { return s.module("url").(*goja.Object).Get(name) })
	}
	for _, name := range []string{"url", "events", "timers"} {
		s.lazy(name, func() goja.Value { return s.module(name) })
	}
	define(s.rt.GlobalObject(), clarifier, s.function(clarifier, func(c *call) goja.Value {
		if e := c.object(0); e != nil {
			c.s.clarify(e)
		}
		return nil
	}))
	define(s.rt.GlobalObject(), importer, s.function(importer, func(c *call) goja.Value { return c.importModule() }))
	s.defineIt()
	s.definePolyfills()
	s.defineRegExp()
}

func (s *Shell) globalFunction(g global) *goja.Object {
	params := parseSignature(g.signature)
	f := s.function(g.name, func(c *call) goja.Value {
		c.check(g.name, params)
		return g.call(c)
	})
	s.describe(f, helpEntry{form: callForm(g.name, g.signature), text: g.help})
	return f
}

// lazy defines a global that is built when it is first read. Assigning to it
// makes it an ordinary variable (spec 04 §10, trap 31).
func (s *Shell) lazy(name string, build func() goja.Value) {
	s.world.DefineLazy(s.rt.GlobalObject(), name, func() goja.Value {
		v := build()
		s.builtins[name] = v
		return v
	})
}

// builtin reports whether a global is still what the shell put there.
func (s *Shell) builtin(name string) bool {
	now := s.rt.GlobalObject().Get(name) // builds it when nobody has looked yet
	was, ok := s.builtins[name]
	return ok && now != nil && now.SameAs(was)
}

// defineDB makes db a global that only takes databases (spec 04 §6.1). Scripts
// that say "const db = …" at their top level reach this setter too.
func (s *Shell) defineDB() {
	get := func(goja.FunctionCall) goja.Value {
		if s.db == nil {
			s.throwCoded(invalidInput, codeNotConnected, "No connected database")
		}
		return s.db.object
	}
	set := func(fc goja.FunctionCall) goja.Value {
		d, ok := receiver[*database](fc.Argument(0))
		if !ok {
			s.throwCoded(invalidInput, codeInvalidOperation, "Cannot reassign 'db' to non-Database type")
		}
		s.useDatabase(d)
		return goja.Undefined()
	}
	must(s.rt.GlobalObject().DefineAccessorProperty("db", s.rt.ToValue(get), s.rt.ToValue(set), goja.FLAG_TRUE, goja.FLAG_TRUE))
}

func (s *Shell) useDatabase(d *database) {
	s.db = d
	s.cursor = nil
}

// warn writes a line to the error stream.
func (s *Shell) warn(text string) {
	s.writeTo(s.cfg.Stderr, strings.TrimRight(text, "\n")+"\n")
}

// warnOnce writes a line the first time it is asked to in this run.
func (s *Shell) warnOnce(text string) {
	if !s.warned[text] {
		s.warned[text] = true
		s.warn(text)
	}
}

func (s *Shell) deprecate(text string) {
	s.warnOnce("DeprecationWarning: " + text)
}
