package script

import "github.com/dop251/goja"

// NewCheckedFunction returns a function with a help text whose arguments are checked.
func (s *Engine) NewCheckedFunction(name, signature, help string, call func(c *Call) goja.Value) *goja.Object {
	params := ParseSignature(signature)
	f := s.NewFunction(name, func(c *Call) goja.Value {
		c.Check(name, params)
		return call(c)
	})
	s.Help.Describe(f, Help{CallForm: CallForm(name, signature), Text: help})
	return f
}

// DefineLazyGlobal defines a global that is built when it is first read. Assigning to it
// makes it an ordinary variable (rules/04-outputs-and-traps §10, trap 31).
func (s *Engine) DefineLazyGlobal(name string, build func() goja.Value) {
	s.Values.DefineLazy(s.Runtime.GlobalObject(), name, func() goja.Value {
		v := build()
		s.builtins[name] = v
		return v
	})
}

// isUnchangedBuiltin reports whether a global still has the value that the shell defined.
func (s *Engine) isUnchangedBuiltin(name string) bool {
	now := s.Runtime.GlobalObject().Get(name) // this may build the global
	was, ok := s.builtins[name]
	return ok && now != nil && now.SameAs(was)
}

// Global is a global function. Its signature is that of a [Method].
type Global struct {
	Name, Signature string
	Call            func(c *Call) goja.Value
	Help            string
}

// DefineGlobal defines a function that is built on first access.
func (s *Engine) DefineGlobal(g Global) {
	s.DefineLazyGlobal(g.Name, func() goja.Value { return s.NewCheckedFunction(g.Name, g.Signature, g.Help, g.Call) })
}
