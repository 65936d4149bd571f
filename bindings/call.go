package bindings

import "github.com/dop251/goja"

// call is one call of a method or of a global function of the shell's.
type call struct {
	*Call
	s *Shell
}

// method is a function scripts find on objects of one kind, as Method, called
// with the shell at hand.
type method[T any] struct {
	name, signature string
	call            func(c *call, on T) goja.Value
	help            string
}

// prototype gives the prototype of a kind of object with its methods.
func prototype[T any](s *Shell, label string, methods []method[T]) *goja.Object {
	if p := s.JS.class(label); p != nil {
		return p
	}
	list := make([]Method[T], len(methods))
	for i, m := range methods {
		list[i] = Method[T]{m.name, m.signature, func(c *Call, on T) goja.Value { return m.call(&call{c, s}, on) }, m.help}
	}
	return classPrototype(s.JS, label, list)
}

// function makes a function of the shell's own.
func (s *Shell) function(name string, f func(c *call) goja.Value) *goja.Object {
	return s.JS.function(name, func(c *Call) goja.Value { return f(&call{c, s}) })
}

// global is a function scripts find under its name.
type global struct {
	name, signature string
	call            func(c *call) goja.Value
	help            string
}

func (s *Shell) defineFunctions(table []global) {
	for _, g := range table {
		s.JS.lazy(g.name, func() goja.Value {
			return s.JS.described(g.name, g.signature, g.help, func(c *Call) goja.Value { return g.call(&call{c, s}) })
		})
	}
}
