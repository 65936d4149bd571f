package values

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/dop251/goja"
)

// settling is how a lazy document's object turns into one like any other while
// scripts hold it. What an object does is behind a field of goja's Object that has
// no name outside; objects of the common kind know the Object they belong to, which
// is the receiver of their accessors.
type settling struct {
	rt          *goja.Runtime
	js          *intrinsics
	self, owner []int        // the fields of Object and of the kind behind it; nil for unknown
	proto       *goja.Object // of lazy documents; nil before the first
}

func newSettling(rt *goja.Runtime, js *intrinsics) settling {
	s := settling{rt: rt, js: js}
	self, ok := reflect.TypeFor[goja.Object]().FieldByName("self")
	if !ok || self.Type.Kind() != reflect.Interface {
		return s
	}
	kind := reflect.ValueOf(rt.NewObject()).Elem().FieldByIndex(self.Index).Elem().Type()
	if kind.Kind() != reflect.Pointer || kind.Elem().Kind() != reflect.Struct {
		return s
	}
	owner, ok := kind.Elem().FieldByName("val")
	if !ok || owner.Type != reflect.TypeFor[*goja.Object]() {
		return s
	}
	s.self, s.owner = self.Index, owner.Index
	return s
}

// possible reports whether this release of goja is known.
func (s *settling) possible() bool { return s.owner != nil }

// become makes o what fresh is, which nobody else holds.
func (s *settling) become(o, fresh *goja.Object) {
	owner := reflect.ValueOf(fresh).Elem().FieldByIndex(s.self).Elem().Elem().FieldByIndex(s.owner)
	*(**goja.Object)(unsafe.Pointer(owner.UnsafeAddr())) = o
	*o = *fresh
}

// Settle makes a lazy document an object like any other, for what looks at it
// otherwise than scripts do. It returns v.
func Settle(v goja.Value) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		if l := lazyOf(o); l != nil {
			l.settle()
		}
	}
	return v
}

// settleBehind settles a document, or the one behind a script's proxies.
func settleBehind(v goja.Value) {
	o, _ := v.(*goja.Object)
	for o != nil && isProxy(o) {
		o = o.Export().(goja.Proxy).Target()
	}
	if o != nil {
		Settle(o)
	}
}

// prototype returns what lazy documents inherit from: all of Object.prototype,
// and that they settle when a script gives them, or what inherits from them, a
// property whose name is a symbol.
func (s *settling) prototype() *goja.Object {
	if s.proto != nil {
		return s.proto
	}
	set := func(_ *goja.Object, name *goja.Symbol, v, receiver goja.Value) bool {
		for o, _ := receiver.(*goja.Object); o != nil; {
			if isProxy(o) {
				o = o.Export().(goja.Proxy).Target()
				continue
			}
			Settle(o)
			o = o.Prototype()
		}
		done, err := s.js.reflectSet(nil, s.js.objectProto, name, v, receiver)
		must(err)
		return done.ToBoolean()
	}
	target := s.rt.CreateObject(s.js.objectProto)
	proxy := s.rt.NewProxy(target, &goja.ProxyTrapConfig{SetSym: set})
	s.proto = s.rt.ToValue(proxy).(*goja.Object)
	return s.proto
}

// settlers are the engine's functions that do to an object what a lazy document
// can't follow, or tell what it inherits from.
func settlers() map[string]string {
	return map[string]string{
		"Object":  "defineProperty defineProperties freeze seal preventExtensions getPrototypeOf setPrototypeOf",
		"Reflect": "defineProperty preventExtensions getPrototypeOf setPrototypeOf",
	}
}

// guard has lazy documents settle before one of the settlers sees them.
func (s *settling) guard() {
	for owner, names := range settlers() {
		of := s.rt.GlobalObject().Get(owner).(*goja.Object)
		for name := range strings.FieldsSeq(names) {
			hidden(of, name, s.before(of.Get(name), func(call goja.FunctionCall) goja.Value { return call.Argument(0) }))
		}
	}
	d, err := s.js.getOwn(nil, s.js.objectProto, s.rt.ToValue("__proto__"))
	must(err)
	if accessor, ok := d.(*goja.Object); ok {
		this := func(call goja.FunctionCall) goja.Value { return call.This }
		must(s.js.objectProto.DefineAccessorProperty("__proto__", s.before(accessor.Get("get"), this),
			s.before(accessor.Get("set"), this), goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
}

// before returns a function that does what another does, after what it does
// that to has settled.
func (s *settling) before(v goja.Value, of func(goja.FunctionCall) goja.Value) goja.Value {
	original := v.(*goja.Object)
	run := callable(original)
	f := s.rt.ToValue(func(call goja.FunctionCall) goja.Value {
		settleBehind(of(call))
		v, err := run(call.This, call.Arguments...)
		must(err)
		return v
	}).(*goja.Object)
	for _, property := range []string{"name", "length"} {
		must(f.DefineDataProperty(property, original.Get(property), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	return f
}
