package script

import (
	"errors"

	"github.com/dop251/goja"
)

// OrUndefined returns a value, or undefined for nil.
func OrUndefined(v goja.Value) goja.Value {
	if v == nil {
		return goja.Undefined()
	}
	return v
}

// OrNull returns a value, or null for nil.
func OrNull(v goja.Value) goja.Value {
	if v == nil {
		return goja.Null()
	}
	return v
}

// ObjectOrUndefined returns an object as a value, or undefined for nil.
func ObjectOrUndefined(o *goja.Object) goja.Value {
	if o == nil {
		return goja.Undefined()
	}
	return o
}

// EJSONText returns the result of EJSONText.stringify, for messages.
func (s *Engine) EJSONText(v goja.Value) string {
	text, err := s.Values.EJSON(v, false, "")
	if err != nil {
		return v.String()
	}
	return text
}

// ThrownBy returns the value that a script threw; nil for other errors.
func ThrownBy(err error) goja.Value {
	if ex, ok := errors.AsType[*goja.Exception](err); ok {
		return ex.Value()
	}
	return nil
}

// Methods are the methods of one class of objects; see [Method].
type Methods[T any] []struct {
	Name, Signature string
	Call            func(c *Call, on T) goja.Value
	Help            string
}

// PrototypeFromTables returns the prototype of a class of objects, like [Prototype], with the methods of tables.
func PrototypeFromTables[T any](s *Engine, label string, tables ...func() Methods[T]) *goja.Object {
	if p := s.Classes.Prototype(label); p != nil {
		return p
	}
	var list []Method[T]
	for _, table := range tables {
		for _, m := range table() {
			list = append(list, Method[T]{Name: m.Name, Signature: m.Signature, Call: m.Call, Help: m.Help})
		}
	}
	return Prototype(s, label, list)
}

// Globals are global functions.
type Globals []struct {
	Name, Signature string
	Call            func(c *Call) goja.Value
	Help            string
}

// List converts the globals for the engine.
func (g Globals) List() []Global {
	list := make([]Global, len(g))
	for i, f := range g {
		list[i] = Global{Name: f.Name, Signature: f.Signature, Call: f.Call, Help: f.Help}
	}
	return list
}

// NewClass returns a global class of the shell with an existing prototype.
func NewClass(s *Engine, name string, proto *goja.Object, build func(c *Call) *goja.Object) goja.Value {
	ctor := s.Runtime.ToValue(func(cc goja.ConstructorCall) *goja.Object {
		defer s.RecoverPanic()
		return build(&Call{JS: s, Args: cc.Arguments})
	}).(*goja.Object)
	Must(ctor.DefineDataProperty("name", s.Runtime.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	Must(ctor.Set("prototype", proto))
	return ctor
}
