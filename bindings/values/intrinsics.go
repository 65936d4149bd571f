package values

import "github.com/dop251/goja"

// intrinsics are the runtime's built-in objects. They are read before any script runs, because a script
// may define its own variable Map or Error.
type intrinsics struct {
	object, objectProto     *goja.Object
	array, arrayProto       *goja.Object
	dateProto, errProto     *goja.Object
	date, regexp, errorCtor goja.Constructor
	weakMap                 goja.Constructor
	errors                  map[string]*goja.Object // prototypes of the error classes
	getOwnDescriptor        goja.Callable           // Object.getOwnPropertyDescriptor
	ownSymbols              goja.Callable           // Object.getOwnPropertySymbols
	symbolFor               goja.Callable           // Symbol.for
	reflectSet              goja.Callable           // Reflect.set
	dateParse               goja.Callable
	stringify, parse        goja.Callable // of JSON
	mapEntries, mapSize     goja.Callable
	setValues, setSize      goja.Callable
	typedArrays             map[string]goja.Constructor
}

func intrinsicsOf(rt *goja.Runtime) intrinsics {
	object := func(name string) *goja.Object {
		o, _ := rt.GlobalObject().Get(name).(*goja.Object)
		return o
	}
	constructor := func(name string) goja.Constructor {
		c, _ := goja.AssertConstructor(object(name))
		return c
	}
	proto := func(name string) *goja.Object {
		p, _ := object(name).Get("prototype").(*goja.Object)
		return p
	}
	js := intrinsics{
		object: object("Object"), objectProto: proto("Object"),
		array: object("Array"), arrayProto: proto("Array"),
		dateProto: proto("Date"), errProto: proto("Error"),
		date: constructor("Date"), regexp: constructor("RegExp"), errorCtor: constructor("Error"),
		weakMap:          constructor("WeakMap"),
		errors:           make(map[string]*goja.Object),
		getOwnDescriptor: callable(object("Object").Get("getOwnPropertyDescriptor")),
		ownSymbols:       callable(object("Object").Get("getOwnPropertySymbols")),
		symbolFor:        callable(object("Symbol").Get("for")),
		reflectSet:       callable(object("Reflect").Get("set")),
		dateParse:        callable(object("Date").Get("parse")),
		stringify:        callable(object("JSON").Get("stringify")),
		parse:            callable(object("JSON").Get("parse")),
		mapEntries:       callable(proto("Map").Get("entries")),
		setValues:        callable(proto("Set").Get("values")),
		typedArrays:      make(map[string]goja.Constructor),
	}
	for _, name := range [...]string{"TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError"} {
		js.errors[name] = proto(name)
	}
	for _, name := range [...]string{"Uint8Array", "Int8Array", "Float32Array"} {
		js.typedArrays[name] = constructor(name)
	}
	size := func(name string) goja.Callable {
		d, _ := js.getOwnDescriptor(nil, proto(name), rt.ToValue("size"))
		return callable(d.(*goja.Object).Get("get"))
	}
	js.mapSize, js.setSize = size("Map"), size("Set")
	return js
}

// newDate returns a Date of milliseconds since 1970; NaN gives an invalid Date.
func (i *intrinsics) newDate(ms goja.Value) *goja.Object {
	o, err := i.date(nil, ms)
	must(err)
	return o
}

// parseDate implements Date.parse.
func (i *intrinsics) parseDate(v goja.Value) goja.Value {
	ms, err := i.dateParse(nil, v)
	must(err)
	return ms
}

// typedArray returns a typed array of the given class over a buffer.
func (i *intrinsics) typedArray(class string, buffer goja.Value) goja.Value {
	o, err := i.typedArrays[class](nil, buffer)
	must(err)
	return o
}

// json returns the result of JSON.stringify.
func (i *intrinsics) json(v goja.Value) string {
	text, err := i.stringify(nil, v)
	must(err)
	return text.String()
}

func callable(v goja.Value) goja.Callable {
	f, _ := goja.AssertFunction(v)
	return f
}

// parseJSON returns the result of JSON.parse.
func (i *intrinsics) parseJSON(rt *goja.Runtime, text string) goja.Value {
	v, err := i.parse(nil, rt.ToValue(text))
	must(err)
	return v
}
