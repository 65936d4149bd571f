package values

import (
	"reflect"
	"slices"

	"github.com/dop251/goja"
)

// kind is a BSON type that has no JavaScript equivalent.
type kind uint8

const (
	kindObjectID kind = iota
	kindLong
	kindInt32
	kindDouble
	kindDecimal128
	kindTimestamp
	kindMinKey
	kindMaxKey
	kindBinary
	kindUUID
	kindCode
	kindDBRef
	kindRegExp
	kindSymbol
	kindCount

	noParent = kindCount // the parent of classes that inherit from no other class
)

// payload is the Go side of a wrapper object. Get and Keys provide the fields that the object has in
// other shells.
type payload interface {
	goja.DynamicObject
	kind() kind
	// encode appends the value in BSON and sets its type.
	encode(e *encoder)
	// inspectText returns the text of the value inside an inspected one.
	inspectText(in *inspector) string
	// writeEJSON writes the value as extended JSON.
	writeEJSON(j *jsonWriter)
}

// readOnlyFields is the part of goja.DynamicObject that all wrappers share: fields cannot be set or
// removed.
type readOnlyFields struct{}

func (readOnlyFields) Set(string, goja.Value) bool { return false }
func (readOnlyFields) Delete(string) bool          { return false }

// noFields is the base of wrappers without fields.
type noFields struct{ readOnlyFields }

func (noFields) Get(string) goja.Value { return nil }
func (noFields) Has(string) bool       { return false }
func (noFields) Keys() []string        { return nil }

// payloadOf returns the payload of a wrapper object. It never runs script code.
func payloadOf(v goja.Value) (payload, bool) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() == nil || o.ExportType().Kind() != reflect.Pointer {
		return nil, false
	}
	p, ok := o.Export().(payload)
	return p, ok
}

// wrap returns a wrapper object of p.
func (w *Realm) wrap(p payload) *goja.Object { return w.wrapAs(p, w.class(p.kind()).proto) }

func (w *Realm) wrapAs(p payload, proto *goja.Object) *goja.Object {
	o := w.rt.NewDynamicObject(p)
	must(o.SetPrototype(proto))
	return o
}

// class is a constructor and its prototype.
type class struct {
	ctor  *goja.Object
	proto *goja.Object
}

// classSpec defines a class. The tables are built when the class is first used.
type classSpec struct {
	name     string // name of the constructor
	bsontype string // value of _bsontype
	parent   kind   // noParent for none
	// construct checks the arguments of a call and returns the payload.
	construct func(w *Realm, args []goja.Value) payload
	methods   func(w *Realm) []method
	getters   func(w *Realm) []method
	statics   func(w *Realm, c *class)
}

// method is a named native function.
type method struct {
	name string
	call func(goja.FunctionCall) goja.Value
}

func (w *Realm) class(k kind) *class {
	if c := w.classes[k]; c != nil {
		return c
	}
	spec := classSpecOf(k)
	c := &class{}
	w.classes[k] = c
	c.ctor = w.newConstructor(spec.name, spec.construct)
	c.proto = c.ctor.Get("prototype").(*goja.Object)
	if spec.parent != noParent {
		parent := w.class(spec.parent)
		must(c.proto.SetPrototype(parent.proto))
		must(c.ctor.SetPrototype(parent.ctor))
	}
	defineHidden(c.proto, "_bsontype", w.rt.ToValue(spec.bsontype))
	methods := []method{inspectMethod(w)}
	if spec.methods != nil {
		methods = append(methods, spec.methods(w)...)
	}
	for _, m := range methods {
		defineHidden(c.proto, m.name, w.newFunction(m.name, m.call))
	}
	if k == kindLong || k == kindDecimal128 {
		w.defineArithmetic(c)
	}
	if spec.getters != nil {
		for _, g := range spec.getters(w) {
			must(
				c.proto.DefineAccessorProperty(g.name, w.newFunction("get "+g.name, g.call), nil, goja.FLAG_TRUE, goja.FLAG_FALSE),
			)
		}
	}
	if spec.statics != nil {
		spec.statics(w, c)
	}
	return c
}

// newConstructor returns a function that works with and without new, and as the base of a script's own
// class.
func (w *Realm) newConstructor(name string, construct func(*Realm, []goja.Value) payload) *goja.Object {
	ctor := w.rt.ToValue(func(call goja.ConstructorCall) *goja.Object {
		p := construct(w, call.Arguments)
		if call.NewTarget != nil {
			if proto, ok := call.NewTarget.Get("prototype").(*goja.Object); ok {
				return w.wrapAs(p, proto)
			}
		}
		return w.wrap(p)
	}).(*goja.Object)
	must(ctor.DefineDataProperty("name", w.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return ctor
}

// newAlias returns another constructor of an existing class: NumberLong for Long, BinData for Binary.
func (w *Realm) newAlias(name string, k kind, construct func(*Realm, []goja.Value) payload) *goja.Object {
	c := w.class(k)
	ctor := w.rt.ToValue(func(call goja.ConstructorCall) *goja.Object {
		return w.wrap(construct(w, call.Arguments))
	}).(*goja.Object)
	must(ctor.DefineDataProperty("name", w.rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(ctor.DefineDataProperty("prototype", c.proto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	must(ctor.SetPrototype(c.ctor)) // inherit static members, too
	return ctor
}

// defineStatic defines a static function of a constructor.
func (w *Realm) defineStatic(c *class, name string, f func(args []goja.Value) goja.Value) {
	defineHidden(c.ctor, name, w.newFunction(name, func(call goja.FunctionCall) goja.Value { return f(call.Arguments) }))
}

// newMethod returns a method for wrappers whose payload is a T.
func newMethod[T payload](w *Realm, name string, f func(self T, args []goja.Value) goja.Value) method {
	return method{name, func(call goja.FunctionCall) goja.Value {
		p, _ := payloadOf(call.This)
		self, ok := p.(T)
		if !ok {
			w.Errors.throwType("Method " + name + " called on incompatible receiver")
		}
		return f(self, call.Arguments)
	}}
}

func arg(args []goja.Value, i int) goja.Value {
	if i < len(args) {
		return args[i]
	}
	return goja.Undefined()
}

func isMissing(v goja.Value) bool { return v == nil || goja.IsUndefined(v) || goja.IsNull(v) }

func hasField(p payload, key string) bool { return slices.Contains(p.Keys(), key) }
