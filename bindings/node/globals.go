package node

import (
	"github.com/dop251/goja"

	"shardsh/bindings/display"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
)

// Options hold the data about the process for scripts, and their permissions.
type Options struct {
	// Args are the elements of process.argv after the script. Executable is the first element of
	// process.argv.
	Args       []string
	Executable string
	Version    string
	// Environment holds variables in addition to those of the process, or with other values.
	Environment map[string]string
	// Interactive is isTTY of the input, and Color is isTTY of the output.
	Interactive, Color bool
	// Sandbox holds the permissions of scripts on this machine; nil allows everything.
	Sandbox *sandbox.Rules
}

// Globals holds the state of the Node globals.
type Globals struct {
	JS      *script.Engine
	Display *display.Display
	cfg     Options
}

// New returns the Globals of an engine.
func New(js *script.Engine, d *display.Display, o Options) *Globals {
	return &Globals{JS: js, Display: d, cfg: o}
}

// call is one call of a function of this package.
type call struct {
	*script.Call
	globals *Globals
}

func (s *Globals) newFunction(name string, f func(c *call) goja.Value) *goja.Object {
	return s.JS.NewFunction(name, func(c *script.Call) goja.Value { return f(&call{c, s}) })
}

// global is a global function of scripts; see [script.Global].
type global struct {
	name, signature string
	call            func(c *call) goja.Value
	help            string
}

// FileGlobals returns the functions for files and the host.
func (s *Globals) FileGlobals() []script.Global {
	var list []script.Global
	for _, g := range fileGlobals() {
		list = append(list, script.Global{
			Name: g.name, Signature: g.signature, Help: g.help,
			Call: func(c *script.Call) goja.Value { return g.call(&call{c, s}) },
		})
	}
	return list
}

// Define defines the Node globals. Each is built on first access.
func (s *Globals) Define() {
	for _, g := range s.FileGlobals() {
		s.JS.DefineGlobal(g)
	}
	for name, build := range map[string]func() goja.Value{
		"console":         s.newConsole,
		"process":         s.newProcess,
		"log":             s.newLog,
		"require":         func() goja.Value { return s.JS.Modules.NewRequire("") },
		"global":          func() goja.Value { return s.JS.Runtime.GlobalObject() },
		"structuredClone": s.newStructuredClone,
		"performance":     s.newPerformance,
	} {
		s.JS.DefineLazyGlobal(name, build)
	}
	for _, name := range []string{"fs", "path", "os", "util", "crypto", "url", "events", "timers"} {
		s.JS.DefineLazyGlobal(name, func() goja.Value { return s.Module(name) })
	}
	for _, name := range []string{"Buffer", "TextEncoder", "TextDecoder"} {
		s.JS.DefineLazyGlobal(name, func() goja.Value { return s.bytesGlobal(name) })
	}
	for _, name := range []string{"AbortController", "AbortSignal", "Event", "EventTarget", "atob", "btoa", "fetch"} {
		s.JS.DefineLazyGlobal(name, func() goja.Value { return s.webGlobal(name) })
	}
	for _, name := range []string{"URL", "URLSearchParams"} {
		s.JS.DefineLazyGlobal(name, func() goja.Value { return s.Module("url").(*goja.Object).Get(name) })
	}
}
