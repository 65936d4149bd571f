package values

import (
	"strings"

	"github.com/dop251/goja"
)

// lazyGuard materializes a lazy document before a script can observe a difference.
type lazyGuard struct {
	rt         *goja.Runtime
	intrinsics *intrinsics
	proto      *goja.Object // prototype of lazy documents; nil before the first
}

// Materialize converts a lazy document to an ordinary object, for code that accesses objects in other ways
// than scripts do. It returns v.
func Materialize(v goja.Value) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		if l := lazyOf(o); l != nil {
			l.materialize()
		}
	}
	return v
}

// materializeTarget materializes a document, or the target of a script's proxies.
func materializeTarget(v goja.Value) {
	o, _ := v.(*goja.Object)
	for o != nil && IsProxy(o) {
		o = o.Export().(goja.Proxy).Target()
	}
	if o != nil {
		Materialize(o)
	}
}

// prototype returns the prototype of lazy documents. It inherits from Object.prototype. A lazy document
// is materialized when a script sets a property with a symbol as its name on it, or on an object that inherits
// from it.
func (l *lazyGuard) prototype() *goja.Object {
	if l.proto != nil {
		return l.proto
	}
	set := func(_ *goja.Object, name *goja.Symbol, v, receiver goja.Value) bool {
		for o, _ := receiver.(*goja.Object); o != nil; {
			if IsProxy(o) {
				o = o.Export().(goja.Proxy).Target()
				continue
			}
			Materialize(o)
			o = o.Prototype()
		}
		done, err := l.intrinsics.reflectSet(nil, l.intrinsics.objectProto, name, v, receiver)
		must(err)
		return done.ToBoolean()
	}
	target := l.rt.CreateObject(l.intrinsics.objectProto)
	proxy := l.rt.NewProxy(target, &goja.ProxyTrapConfig{SetSym: set})
	l.proto = l.rt.ToValue(proxy).(*goja.Object)
	return l.proto
}

// materializingFunctions returns the built-in functions that change an object in a way that a lazy document
// can't support, or return its prototype.
func materializingFunctions() map[string]string {
	return map[string]string{
		"Object":  "defineProperty defineProperties freeze seal preventExtensions getPrototypeOf setPrototypeOf",
		"Reflect": "defineProperty preventExtensions getPrototypeOf setPrototypeOf",
	}
}

// wrapMaterializingFunctions makes these functions materialize lazy documents first.
func (l *lazyGuard) wrapMaterializingFunctions() {
	for owner, names := range materializingFunctions() {
		of := l.rt.GlobalObject().Get(owner).(*goja.Object)
		for name := range strings.FieldsSeq(names) {
			defineHidden(of, name,
				l.materializeBefore(of.Get(name), func(call goja.FunctionCall) goja.Value { return call.Argument(0) }))
		}
	}
	d, err := l.intrinsics.getOwnDescriptor(nil, l.intrinsics.objectProto, l.rt.ToValue("__proto__"))
	must(err)
	if accessor, ok := d.(*goja.Object); ok {
		this := func(call goja.FunctionCall) goja.Value { return call.This }
		must(l.intrinsics.objectProto.DefineAccessorProperty("__proto__", l.materializeBefore(accessor.Get("get"), this),
			l.materializeBefore(accessor.Get("set"), this), goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
}

// materializeBefore returns a function that materializes its argument before it calls another function.
func (l *lazyGuard) materializeBefore(v goja.Value, of func(goja.FunctionCall) goja.Value) goja.Value {
	original := v.(*goja.Object)
	run := callable(original)
	f := l.rt.ToValue(func(call goja.FunctionCall) goja.Value {
		materializeTarget(of(call))
		v, err := run(call.This, call.Arguments...)
		must(err)
		return v
	}).(*goja.Object)
	for _, property := range []string{"name", "length"} {
		must(f.DefineDataProperty(property, original.Get(property), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	return f
}
