package values

import (
	"maps"
	"slices"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Names of the error classes this package throws.
const (
	bsonError    = "BSONError"
	invalidInput = "MongoshInvalidInputError"
)

// Errors creates JavaScript errors.
type Errors struct {
	rt         *goja.Runtime
	intrinsics *intrinsics
	value      func(any) goja.Value // converts the value of a field
}

// New returns a JavaScript Error with the given name, class and message. fields become enumerable
// properties, sorted by name; their values may be JavaScript values, bson.Raw, bson.RawValue or
// anything that the runtime can convert. The names Error, TypeError, RangeError, SyntaxError,
// ReferenceError and EvalError select the runtime's own classes.
func (x *Errors) New(name, message string, fields ...map[string]any) *goja.Object {
	e, err := x.intrinsics.errorCtor(nil, x.rt.ToValue(message))
	if err != nil {
		panic(err)
	}
	if p := x.prototype(name); p != nil {
		must(e.SetPrototype(p))
	}
	for _, set := range fields {
		for _, k := range slices.Sorted(maps.Keys(set)) {
			must(e.Set(k, x.value(set[k])))
		}
	}
	return e
}

// Throw panics with the error that New returns. In a Go function that a script called, the script
// catches it as an exception.
func (x *Errors) Throw(name, message string, fields map[string]any) {
	panic(x.New(name, message, fields))
}

func (x *Errors) throwBSON(message string) { panic(x.New(bsonError, message)) }

// throwInput throws the shell's error for an argument.
func (x *Errors) throwInput(message string) {
	e := x.New(invalidInput, "[COMMON-10001] "+message)
	defineHidden(e, "code", x.rt.ToValue("COMMON-10001"))
	panic(e)
}

func (x *Errors) throwType(message string) { panic(x.New("TypeError", message)) }

// prototype returns the prototype of an error class, nil for Error itself.
func (x *Errors) prototype(name string) *goja.Object {
	if name == "" || name == "Error" {
		return nil
	}
	if p, ok := x.intrinsics.errors[name]; ok {
		return p
	}
	p := x.rt.CreateObject(x.intrinsics.errProto)
	ctor := newFunction(x.rt, name, func(call goja.FunctionCall) goja.Value {
		return x.New(name, call.Argument(0).String())
	})
	defineHidden(ctor, "prototype", p)
	defineHidden(p, "name", x.rt.ToValue(name))
	defineHidden(p, "constructor", ctor)
	x.intrinsics.errors[name] = p
	return p
}

func (w *Realm) fieldValue(v any) goja.Value {
	switch v := v.(type) {
	case bson.Raw:
		return w.DocToJS(v)
	case bson.RawValue:
		return w.ToJS(v)
	case bson.RawArray:
		return w.ToJS(bson.RawValue{Type: bson.TypeArray, Value: v})
	case bson.ObjectID:
		return w.newObjectID(v)
	default:
		return w.rt.ToValue(v)
	}
}
