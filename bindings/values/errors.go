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

// NewError makes a JavaScript Error whose name, class and message are as
// given. fields become enumerable properties, in the order of their names;
// their values may be JavaScript values, bson.Raw, bson.RawValue or anything
// the runtime converts itself. The names Error, TypeError, RangeError,
// SyntaxError, ReferenceError and EvalError give the runtime's own classes.
func (w *World) NewError(name, message string, fields ...map[string]any) *goja.Object {
	e, err := w.js.err(nil, w.rt.ToValue(message))
	if err != nil {
		panic(err)
	}
	if p := w.errorPrototype(name); p != nil {
		must(e.SetPrototype(p))
	}
	for _, set := range fields {
		for _, k := range slices.Sorted(maps.Keys(set)) {
			must(e.Set(k, w.fieldValue(set[k])))
		}
	}
	return e
}

// Throw panics with the error NewError makes; inside a Go function that a
// script called, the script sees it as a thrown Error.
func (w *World) Throw(name, message string, fields map[string]any) {
	panic(w.NewError(name, message, fields))
}

func (w *World) throwBSON(message string) { panic(w.NewError(bsonError, message)) }

// throwInput is the shell's complaint about an argument.
func (w *World) throwInput(message string) {
	e := w.NewError(invalidInput, "[COMMON-10001] "+message)
	hidden(e, "code", w.rt.ToValue("COMMON-10001"))
	panic(e)
}

func (w *World) throwType(message string) { panic(w.NewError("TypeError", message)) }

// errorPrototype returns the prototype of an error class, nil for Error itself.
func (w *World) errorPrototype(name string) *goja.Object {
	if name == "" || name == "Error" {
		return nil
	}
	if p, ok := w.js.errors[name]; ok {
		return p
	}
	p := w.rt.CreateObject(w.js.errProto)
	ctor := w.function(name, func(call goja.FunctionCall) goja.Value {
		return w.NewError(name, call.Argument(0).String())
	})
	hidden(ctor, "prototype", p)
	hidden(p, "name", w.rt.ToValue(name))
	hidden(p, "constructor", ctor)
	w.js.errors[name] = p
	return p
}

func (w *World) fieldValue(v any) goja.Value {
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
