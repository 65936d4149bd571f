package bindings

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// method is a function scripts find on objects of one kind.
//
// Its signature lists the arguments by name and type, "ns:string key:object
// unique?:boolean|object": they are checked in this order before the function
// runs (spec 04 §5.1). A question mark makes an argument optional; the type any
// only asks for presence.
type Method[T any] struct {
	name, signature string
	call            func(c *Call, on T) goja.Value
	help            string
}

// call is one call of a method or of a global function.
type Call struct {
	JS   *Engine
	this goja.Value
	args []goja.Value
}

// arg is the argument at position i; undefined when there is none.
func (c *Call) arg(i int) goja.Value {
	if i < len(c.args) && c.args[i] != nil {
		return c.args[i]
	}
	return goja.Undefined()
}

func (c *Call) has(i int) bool { return !goja.IsUndefined(c.arg(i)) }

func (c *Call) text(i int) string { return c.arg(i).String() }

// object is the argument at position i if it is an object; nil otherwise.
func (c *Call) object(i int) *goja.Object {
	o, _ := c.arg(i).(*goja.Object)
	return o
}

// param is one argument of a signature.
type param struct {
	name     string
	types    []string
	optional bool
}

func parseSignature(text string) []param {
	fields := strings.Fields(text)
	list := make([]param, len(fields))
	for i, f := range fields {
		name, types, _ := strings.Cut(f, ":")
		list[i].name, list[i].optional = strings.CutSuffix(name, "?")
		if types != "" && types != "any" {
			list[i].types = strings.Split(types, "|")
		}
	}
	return list
}

// callForm is how a call of the function is written in help texts.
func callForm(name, signature string) string {
	var names []string
	for _, p := range parseSignature(signature) {
		names = append(names, p.name)
	}
	return name + "(" + strings.Join(names, ", ") + ")"
}

// check throws for the first argument that is missing or of a wrong type.
func (c *Call) check(label string, params []param) {
	for i, p := range params {
		v := c.arg(i)
		if goja.IsUndefined(v) {
			if p.optional {
				continue
			}
			c.JS.throwInvalid("Missing required argument at position %d (%s)", i, label)
		}
		if kind := typeOf(v); p.types != nil && !slices.Contains(p.types, kind) {
			c.JS.throwInvalid("Argument at position %d must be of type %s, got %s instead (%s)", i, strings.Join(p.types, " or "), kind, label)
		}
	}
}

// typeOf is JavaScript's typeof.
func typeOf(v goja.Value) string {
	switch {
	case goja.IsUndefined(v):
		return "undefined"
	case goja.IsNull(v):
		return "object"
	case goja.IsString(v):
		return "string"
	case goja.IsNumber(v):
		return "number"
	case goja.IsBigInt(v):
		return "bigint"
	}
	switch v := v.(type) {
	case *goja.Object:
		if _, ok := goja.AssertFunction(v); ok {
			return "function"
		}
		return "object"
	case *goja.Symbol:
		return "symbol"
	}
	if v.ExportType() != nil && v.ExportType().Kind() == reflect.Bool {
		return "boolean"
	}
	return "undefined"
}

// classes holds the prototypes, each made when its first object is.
type classes struct {
	prototypes map[string]*goja.Object
	helps      map[*goja.Object]helpEntry
	function   *goja.Object // prototype of all of the shell's functions

}

// classPrototype gives the prototype of a kind of object with its methods. The label
// is the class's name in argument errors.
func classPrototype[T any](s *Engine, label string, methods []Method[T]) *goja.Object {
	if p := s.classes.prototypes[label]; p != nil {
		return p
	}
	p := s.rt.NewObject()
	if s.classes.prototypes == nil {
		s.classes.prototypes = make(map[string]*goja.Object)
	}
	s.classes.prototypes[label] = p
	for _, m := range methods {
		params := parseSignature(m.signature)
		qualified := label + "." + m.name
		f := s.function(m.name, func(c *Call) goja.Value {
			on, ok := receiver[T](c.this)
			if !ok {
				c.JS.throwType("%s was called on something that is no %s", m.name, label)
			}
			c.check(qualified, params)
			return m.call(c, on)
		})
		s.describe(f, helpEntry{form: callForm(m.name, m.signature), class: label, text: m.help})
		define(p, m.name, f)
	}
	if rows := helpOf(methods); len(rows) > 0 && p.Get("help") == nil {
		s.helpProperty(p, func() string { return s.helpTable(label+" Class", rows) })
	}
	return p
}

// class is a prototype that was made before; nil for none.
func (s *Engine) class(label string) *goja.Object { return s.classes.prototypes[label] }

// receiver finds the Go value behind an object, or behind one it inherits from.
func receiver[T any](v goja.Value) (T, bool) {
	want := reflect.TypeFor[T]()
	for o, _ := v.(*goja.Object); o != nil; o = o.Prototype() {
		if o.ExportType() == want {
			t, ok := o.Export().(T)
			return t, ok
		}
	}
	var none T
	return none, false
}

// function makes a function of the shell's own.
func (s *Engine) function(name string, f func(c *Call) goja.Value) *goja.Object {
	fn := s.rt.ToValue(func(fc goja.FunctionCall) goja.Value {
		defer s.containFaults()
		v := f(&Call{JS: s, this: fc.This, args: fc.Arguments})
		if v == nil {
			return goja.Undefined()
		}
		return v
	}).(*goja.Object)
	must(fn.DefineDataProperty("name", s.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(fn.SetPrototype(s.functionPrototype()))
	return fn
}

// containFaults makes a fault of our own an error scripts can report; what the
// engine throws passes.
func (s *Engine) containFaults() {
	p := recover()
	if p == nil {
		return
	}
	if fault, ok := p.(runtime.Error); ok {
		e := s.world.NewError(internalError, fault.Error())
		define(e, "goStack", s.rt.ToValue(string(debug.Stack())))
		panic(e)
	}
	panic(p)
}

// functionPrototype is what the shell's functions inherit from: help, on top of
// what every function has.
func (s *Engine) functionPrototype() *goja.Object {
	if s.classes.function != nil {
		return s.classes.function
	}
	base := s.rt.GlobalObject().Get("Function").(*goja.Object).Get("prototype").(*goja.Object)
	p := s.rt.CreateObject(base)
	s.classes.function = p
	must(p.DefineAccessorProperty("help", s.rt.ToValue(func(fc goja.FunctionCall) goja.Value {
		fn, _ := fc.This.(*goja.Object)
		entry, ok := s.classes.helps[fn]
		if !ok {
			return goja.Undefined()
		}
		return s.helpFunction(func() string { return entry.render(s) })
	}), nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return p
}

func (s *Engine) describe(fn *goja.Object, h helpEntry) {
	if s.classes.helps == nil {
		s.classes.helps = make(map[*goja.Object]helpEntry)
	}
	s.classes.helps[fn] = h
}

// define adds a property that behaves like a method of a class: hidden and
// replaceable.
func define(o *goja.Object, name string, v goja.Value) {
	must(o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// must is for setting properties: on objects of our own that cannot fail, and on
// a script's it throws what the script made it throw.
func must(err error) {
	var exception *goja.Exception
	if errors.As(err, &exception) {
		panic(exception)
	}
	if err != nil {
		panic(fmt.Sprintf("setting a property: %v", err))
	}
}

// tail is a Go value behind a JavaScript object. It has no properties.
type tail struct{}

func (tail) Get(string) goja.Value       { return nil }
func (tail) Set(string, goja.Value) bool { return false }
func (tail) Has(string) bool             { return false }
func (tail) Delete(string) bool          { return true }
func (tail) Keys() []string              { return nil }

// instance makes an object of a class around a Go value, which receiver finds
// again. The object takes properties like any other.
func (s *Engine) instance(on goja.DynamicObject, proto *goja.Object) *goja.Object {
	hidden := s.rt.NewDynamicObject(on)
	must(hidden.SetPrototype(proto))
	return s.rt.CreateObject(hidden)
}

// cached keeps an object that is made at most once.
func (s *Engine) cached(key string, build func() *goja.Object) *goja.Object {
	if s.classes.prototypes == nil {
		s.classes.prototypes = make(map[string]*goja.Object)
	}
	o := s.classes.prototypes[key]
	if o == nil {
		o = build()
		s.classes.prototypes[key] = o
	}
	return o
}
