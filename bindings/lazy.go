package bindings

import (
	"strings"

	"github.com/dop251/goja"
)

// described makes a function with a help text whose arguments are checked.
func (s *Engine) described(name, signature, help string, call func(c *Call) goja.Value) *goja.Object {
	params := parseSignature(signature)
	f := s.function(name, func(c *Call) goja.Value {
		c.check(name, params)
		return call(c)
	})
	s.describe(f, helpEntry{form: callForm(name, signature), text: help})
	return f
}

// lazy defines a global that is built when it is first read. Assigning to it
// makes it an ordinary variable (spec 04 §10, trap 31).
func (s *Engine) lazy(name string, build func() goja.Value) {
	s.world.DefineLazy(s.rt.GlobalObject(), name, func() goja.Value {
		v := build()
		s.builtins[name] = v
		return v
	})
}

// builtin reports whether a global is still what the shell put there.
func (s *Engine) builtin(name string) bool {
	now := s.rt.GlobalObject().Get(name) // builds it when nobody has looked yet
	was, ok := s.builtins[name]
	return ok && now != nil && now.SameAs(was)
}

// warn writes a line to the error stream.
func (s *Engine) warn(text string) {
	s.writeTo(s.cfg.Stderr, strings.TrimRight(text, "\n")+"\n")
}

// warnOnce writes a line the first time it is asked to in this run.
func (s *Engine) warnOnce(text string) {
	if !s.warned[text] {
		s.warned[text] = true
		s.warn(text)
	}
}

func (s *Engine) deprecate(text string) {
	s.warnOnce("DeprecationWarning: " + text)
}
