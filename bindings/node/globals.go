package node

import (
	"github.com/dop251/goja"

	"shardsh/bindings/display"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
)

// Options say what scripts learn about the process, and what they may do.
type Options struct {
	// Args is process.argv after the script; Executable comes first in it.
	Args       []string
	Executable string
	Version    string
	// Environment are variables besides the process's, or with other values.
	Environment map[string]string
	// Interactive and Color are what isTTY says of input and of output.
	Interactive, Color bool
	// Sandbox is what scripts may do on this machine; nil for everything.
	Sandbox *sandbox.Rules
}

// Globals is what scripts know from Node.
type Globals struct {
	JS      *script.Engine
	Display *display.Display
	cfg     Options
}

// New makes the Globals of an engine.
func New(js *script.Engine, d *display.Display, o Options) *Globals {
	return &Globals{JS: js, Display: d, cfg: o}
}

// call is one call of a function of this package.
type call struct {
	*script.Call
	s *Globals
}

func (s *Globals) function(name string, f func(c *call) goja.Value) *goja.Object {
	return s.JS.NewFunction(name, func(c *script.Call) goja.Value { return f(&call{c, s}) })
}

// global is a function scripts find under its name; see [script.Global].
type global struct {
	name, signature string
	call            func(c *call) goja.Value
	help            string
}

// Files returns the functions about files and the host.
func (s *Globals) Files() []script.Global {
	var list []script.Global
	for _, g := range fileGlobals() {
		list = append(list, script.Global{
			Name: g.name, Signature: g.signature, Help: g.help,
			Call: func(c *script.Call) goja.Value { return g.call(&call{c, s}) },
		})
	}
	return list
}

// Define defines the globals that scripts know from Node, each made when it is
// first looked at.
func (s *Globals) Define() {
	for _, g := range s.Files() {
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
