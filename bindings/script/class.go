package script

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"shardsh/balancer/timespan"
)

// Method is a method of one class of objects.
//
// Its signature lists the parameters by name and type, "ns:string key:object unique?:boolean|object".
// Arguments are checked in this order before the function runs (rules/04-objects §5.1). A question mark
// makes a parameter optional; the type any requires only that the argument is present. Braces list the
// fields that an object may have, for completion and help, as in "options?:object{wait,remove}"; @name
// stands for the fields of a command.
type Method[T any] struct {
	Name, Signature string
	Call            func(c *Call, on T) goja.Value
	Help            string
	Example         string
}

// Call is one call of a method or of a global function.
type Call struct {
	JS   *Engine
	This goja.Value
	Args []goja.Value
}

// Arg returns the argument at position i; undefined when there is none.
func (c *Call) Arg(i int) goja.Value {
	if i < len(c.Args) && c.Args[i] != nil {
		return c.Args[i]
	}
	return goja.Undefined()
}

// Has reports whether there is an argument at position i.
func (c *Call) Has(i int) bool { return !goja.IsUndefined(c.Arg(i)) }

// Text returns the argument at position i as a string.
func (c *Call) Text(i int) string { return c.Arg(i).String() }

// Object returns the argument at position i if it is an object; nil otherwise.
func (c *Call) Object(i int) *goja.Object {
	o, _ := c.Arg(i).(*goja.Object)
	return o
}

// param is one parameter of a signature.
type param struct {
	name     string
	types    []string
	optional bool
	fields   []string
}

// ParseSignature parses the signature of a [Method].
func ParseSignature(text string) []param {
	fields := strings.Fields(text)
	list := make([]param, len(fields))
	for i, f := range fields {
		f, options, _ := strings.Cut(strings.TrimSuffix(f, "}"), "{")
		if options != "" {
			list[i].fields = strings.Split(options, ",")
		}
		name, types, _ := strings.Cut(f, ":")
		list[i].name, list[i].optional = strings.CutSuffix(name, "?")
		if types != "" && types != "any" {
			list[i].types = strings.Split(types, "|")
		}
	}
	return list
}

// ParameterNames returns the names of a signature's parameters.
func ParameterNames(signature string) []string {
	var names []string
	for _, p := range ParseSignature(signature) {
		names = append(names, p.name)
	}
	return names
}

// FieldNames returns the names of the fields that a signature lists for an argument.
func FieldNames(signature string, i int) []string {
	if list := ParseSignature(signature); i < len(list) {
		return list[i].fields
	}
	return nil
}

// CallForm returns the form of a call of the function in help texts.
func CallForm(name, signature string) string {
	return name + "(" + strings.Join(ParameterNames(signature), ", ") + ")"
}

// Check throws for the first argument that is missing or of a wrong type.
func (c *Call) Check(label string, params []param) {
	for i, p := range params {
		v := c.Arg(i)
		if goja.IsUndefined(v) {
			if p.optional {
				continue
			}
			c.JS.ThrowInvalid("Missing required argument %s (%s)", p.name, label)
		}
		if kind := TypeOf(v); p.types != nil && !slices.Contains(p.types, kind) {
			c.ThrowArgument(label, p.name, "of type "+strings.Join(p.types, " or "), kind)
		}
	}
}

// ThrowArgument throws for an argument of a wrong type or value. The message uses the parameter's name,
// which the help shows.
func (c *Call) ThrowArgument(label, name, wanted, got string) {
	c.JS.ThrowInvalid("Argument %s must be %s, got %s instead (%s)", name, wanted, got, label)
}

// TypeOf returns the result of JavaScript's typeof.
func TypeOf(v goja.Value) string {
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

// Classes holds the prototypes. Each is created with the first object of its class.
type Classes struct {
	prototypes        map[string]*goja.Object
	functionPrototype *goja.Object // prototype of all of the shell's functions
}

// Prototype returns the prototype of a class of objects with its methods. label is the name of the
// class in argument errors.
func Prototype[T any](s *Engine, label string, methods []Method[T]) *goja.Object {
	if p := s.Classes.prototypes[label]; p != nil {
		return p
	}
	p := s.Runtime.NewObject()
	s.Classes.prototypes[label] = p
	for _, m := range methods {
		params := ParseSignature(m.Signature)
		qualified := label + "." + m.Name
		f := s.NewFunction(m.Name, func(c *Call) goja.Value {
			on, ok := Receiver[T](c.This)
			if !ok && m.Name == "toString" && c.This == p {
				return c.JS.Runtime.ToValue("[object " + label + "]") // scripts compare values with a prototype
			}
			if !ok {
				c.JS.ThrowType("%s was called on something that is not a %s", m.Name, label)
			}
			c.Check(qualified, params)
			return m.Call(c, on)
		})
		s.Help.Describe(f, Help{CallForm: CallForm(m.Name, m.Signature), Class: label, Text: m.Help, Signature: m.Signature,
			Example: m.Example})
		Define(p, m.Name, f)
	}
	if rows := helpOf(methods); len(rows) > 0 && p.Get("help") == nil {
		s.Help.DefineHelp(p, func() string { return s.Out.HelpTable(label+" Class", rows) })
	}
	return p
}

// Prototype returns an existing prototype; nil for none.
func (c *Classes) Prototype(label string) *goja.Object { return c.prototypes[label] }

// Receiver returns the Go value behind an object, or behind an object in its prototype chain: a value
// of type T, or one that implements the interface T.
func Receiver[T any](v goja.Value) (T, bool) {
	want := reflect.TypeFor[T]()
	for o, _ := v.(*goja.Object); o != nil; o = o.Prototype() {
		if is := o.ExportType(); is == want || want.Kind() == reflect.Interface && is != nil && is.Implements(want) {
			t, ok := o.Export().(T)
			return t, ok
		}
	}
	var none T
	return none, false
}

// NewFunction returns a JavaScript function that is implemented in Go.
func (s *Engine) NewFunction(name string, f func(c *Call) goja.Value) *goja.Object {
	fn := s.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		defer s.RecoverPanic()
		v := f(&Call{JS: s, This: fc.This, Args: fc.Arguments})
		if v == nil {
			return goja.Undefined()
		}
		return v
	}).(*goja.Object)
	Must(fn.DefineDataProperty("name", s.Runtime.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	Must(fn.SetPrototype(s.functionPrototype()))
	return fn
}

// RecoverPanic converts a Go runtime panic to an error that scripts can report. Panics of the engine
// pass.
func (s *Engine) RecoverPanic() {
	p := recover()
	if p == nil {
		return
	}
	if fault, ok := p.(runtime.Error); ok {
		e := s.Values.Errors.New(internalErrorName, fault.Error())
		Define(e, "goStack", s.Runtime.ToValue(string(debug.Stack())))
		panic(e)
	}
	panic(p)
}

// functionPrototype returns the prototype of the shell's functions: help, in addition to the members of
// every function.
func (s *Engine) functionPrototype() *goja.Object {
	if s.Classes.functionPrototype != nil {
		return s.Classes.functionPrototype
	}
	base := s.Runtime.GlobalObject().Get("Function").(*goja.Object).Get("prototype").(*goja.Object)
	p := s.Runtime.CreateObject(base)
	s.Classes.functionPrototype = p
	Must(p.DefineAccessorProperty("help", s.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		fn, _ := fc.This.(*goja.Object)
		entry, ok := s.Help.texts[fn]
		if !ok {
			return goja.Undefined()
		}
		return s.Help.NewHelp(func() string { return entry.Render(s) })
	}), nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return p
}

// Define adds a property like a method of a class: not enumerable, and replaceable.
func Define(o *goja.Object, name string, v goja.Value) {
	Must(o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// Must checks the error of setting a property. It cannot fail on the shell's own objects; on a script's
// object, Must throws the exception of the script.
func Must(err error) {
	if err == nil {
		return
	}
	if exception, ok := errors.AsType[*goja.Exception](err); ok {
		panic(exception)
	}
	panic(fmt.Sprintf("setting a property: %v", err))
}

// OpaqueObject is a base for Go values behind JavaScript objects. It has no properties.
type OpaqueObject struct{}

// Get returns nothing.
func (OpaqueObject) Get(string) goja.Value { return nil }

// Set stores nothing.
func (OpaqueObject) Set(string, goja.Value) bool { return false }

// Has reports false.
func (OpaqueObject) Has(string) bool { return false }

// Delete reports true, because no property exists.
func (OpaqueObject) Delete(string) bool { return true }

// Keys returns no keys.
func (OpaqueObject) Keys() []string { return nil }

// NewInstance returns an object of a class around a Go value, which Receiver returns. The object
// accepts properties like any other.
func (s *Engine) NewInstance(on goja.DynamicObject, proto *goja.Object) *goja.Object {
	hidden := s.Runtime.NewDynamicObject(on)
	Must(hidden.SetPrototype(proto))
	return s.Runtime.CreateObject(hidden)
}

// BuildOnce returns an object that is built at most once.
func (c *Classes) BuildOnce(key string, build func() *goja.Object) *goja.Object {
	o := c.prototypes[key]
	if o == nil {
		o = build()
		c.prototypes[key] = o
	}
	return o
}

// Duration returns an argument that is a number of milliseconds, or a string such as "1h30m". label is
// the name of the function, and name that of the parameter.
func (c *Call) Duration(label, name string, i int, byDefault time.Duration) time.Duration {
	if !c.Has(i) || goja.IsNull(c.Arg(i)) {
		return byDefault
	}
	return c.DurationOf(label, name, c.Arg(i))
}

func quotedIfText(v goja.Value) string {
	if goja.IsString(v) {
		return strconv.Quote(v.String())
	}
	return v.String()
}

// DurationOf works like Duration, for a value that is not an argument of the call.
func (c *Call) DurationOf(label, name string, v goja.Value) time.Duration {
	var d time.Duration
	var err error
	switch {
	case goja.IsString(v):
		d, err = timespan.Parse(v.String())
	case TypeOf(v) == "number" || TypeOf(v) == "object" && c.JS.BSONValue(v).IsNumber():
		f, _ := c.JS.BSONValue(v).AsFloat64OK()
		d, err = timespan.Milliseconds(f)
	default:
		err = errors.New(TypeOf(v))
	}
	if err != nil {
		c.ThrowArgument(label, name, "a number of milliseconds, or a time such as \"90s\" or \"1h30m\"", quotedIfText(v))
	}
	return d
}

// Quit ends the script; nothing in the script can delay that (rules/04-command-line-and-prompt §1.7).
func (c *Call) Quit() goja.Value {
	c.Check("exit", ParseSignature("code?:number")) // mongosh's quit also says exit
	code := 0
	if c.Has(0) {
		f := c.Arg(0).ToFloat()
		if f != math.Trunc(f) || f < 0 || f > 255 {
			c.JS.Out.Warn(c.JS.Errors.CallerText() + "exit code " + c.Text(0) + " is not between 0 and 255")
			f = 1
		}
		code = int(f)
	}
	c.JS.Abort(&ExitError{Code: code})
	return nil
}
