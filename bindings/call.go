package bindings

import (
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// call is one call of a method or of a global function of the shell's.
type call struct {
	*script.Call
	s *Shell
}

// method is a function scripts find on objects of one kind, as Method, called
// with the shell at hand.
type method[T any] struct {
	name, signature string
	call            func(c *call, on T) goja.Value
	help            string
}

// prototype returns the prototype of a kind of object with its methods.
func prototype[T any](s *Shell, label string, methods []method[T]) *goja.Object {
	if p := s.JS.Classes.Prototype(label); p != nil {
		return p
	}
	list := make([]script.Method[T], len(methods))
	for i, m := range methods {
		list[i] = script.Method[T]{Name: m.name, Signature: m.signature, Help: m.help,
			Call: func(c *script.Call, on T) goja.Value { return m.call(&call{c, s}, on) }}
	}
	return script.Prototype(s.JS, label, list)
}

// function makes a function of the shell's own.
func (s *Shell) function(name string, f func(c *call) goja.Value) *goja.Object {
	return s.JS.Function(name, func(c *script.Call) goja.Value { return f(&call{c, s}) })
}

// global is a function scripts find under its name.
type global struct {
	name, signature string
	call            func(c *call) goja.Value
	help            string
}

// functions returns the globals of tables, with the shell at hand.
func (s *Shell) functions(tables ...[]global) []script.Global {
	var list []script.Global
	for _, g := range slices.Concat(tables...) {
		list = append(list, script.Global{
			Name: g.name, Signature: g.signature, Help: g.help,
			Call: func(c *script.Call) goja.Value { return g.call(&call{c, s}) },
		})
	}
	return list
}
