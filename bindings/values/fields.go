package values

import (
	"slices"
	"strconv"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"

	"shardsh/bindings/gojamem"
)

// objectFields reads the fields of JavaScript objects, for conversion to BSON and JSON.
type objectFields struct {
	rt         *goja.Runtime
	intrinsics *intrinsics
	memory     *gojamem.Memory
	order      *goja.Symbol       // on documents whose order JavaScript cannot preserve; nil before the first
	names      []unistring.String // names of the fields that are being written
}

// each calls each for an object's own enumerable fields. The names are determined at the beginning.
// Each value is read at its turn: for a field that was deleted meanwhile, this is the value in
// Object.prototype, which is usually missing. A plain object's field that became hidden is left out.
func (f *objectFields) each(o *goja.Object, each func(name string, v goja.Value)) {
	from := len(f.names)
	names, values, ok := f.memory.Fields(o, f.names)
	if !ok || f.order != nil && f.orderOf(o) != nil {
		for _, name := range f.keys(o) {
			each(name, o.Get(name))
		}
		return
	}
	f.names = names
	defer func() { f.names = f.names[:from] }()
	for _, key := range names[from:] {
		name, v := key.String(), values[key]
		if !f.memory.IsPlain(v) { // deleted meanwhile, or an accessor, hidden, or read-only
			if v != nil && f.memory.IsHidden(v) {
				continue
			}
			v = o.Get(name)
		}
		each(name, v)
	}
}

// item returns an item of an array.
func (f *objectFields) item(o *goja.Object, i int) goja.Value {
	if v := f.memory.Item(o, i); v != nil {
		return v
	}
	return o.Get(strconv.Itoa(i))
}

// keepOrder stores the order of fields on the object that is made from them.
func (f *objectFields) keepOrder(o *goja.Object, names []string) {
	if f.order == nil {
		f.order = goja.NewSymbol("shardsh.fieldOrder")
	}
	must(o.DefineDataPropertySymbol(f.order, f.rt.ToValue(&fieldOrder{names: names}), goja.FLAG_FALSE, goja.FLAG_TRUE,
		goja.FLAG_FALSE))
}

func (f *objectFields) orderOf(o *goja.Object) *fieldOrder {
	if l := lazyOf(o); l != nil && l.ensureIndex() {
		return nil
	}
	if f.order == nil || IsProxy(o) {
		return nil
	}
	kept, ok := o.GetSymbol(f.order).(*goja.Object)
	if !ok {
		return nil
	}
	order, _ := kept.Export().(*fieldOrder)
	return order
}

// keys returns an object's own enumerable names: those of a server's document in the document's order,
// then those that a script added.
func (f *objectFields) keys(o *goja.Object) []string {
	order := f.orderOf(o)
	if order == nil {
		return o.Keys()
	}
	return order.arrange(o.Keys())
}

// surelyLacks reports whether an object certainly has no field with a name: it is a plain object or an
// array without that field, and inherits only from built-in prototypes without that field.
func (f *objectFields) surelyLacks(o *goja.Object, name unistring.String) bool {
	names, array, ok := f.memory.Names(o)
	if !ok {
		return false
	}
	from := f.intrinsics.objectProto
	if array {
		from = f.intrinsics.arrayProto
	}
	return !slices.Contains(names, name) && o.Prototype() == from
}

// prototypesLackToBSON reports whether objects and arrays inherit no toBSON; they may have their own. It is
// checked once for each conversion.
func (f *objectFields) prototypesLackToBSON() bool {
	const name = "toBSON"
	if f.memory.PrototypeLacks(f.intrinsics.arrayProto, name) && f.memory.PrototypeLacks(f.intrinsics.objectProto, name) &&
		f.intrinsics.arrayProto.Prototype() == f.intrinsics.objectProto && f.intrinsics.objectProto.Prototype() == nil {
		return true
	}
	return f.intrinsics.arrayProto.Get(name) == nil && // usually inherited from Object.prototype
		(f.intrinsics.arrayProto.Prototype() == f.intrinsics.objectProto || f.intrinsics.objectProto.Get(name) == nil)
}

// callToBSON calls the method toBSON of an object; replaced is false if there is none, or if it returns
// the object itself.
func (f *objectFields) callToBSON(o *goja.Object, nothingHasToBSON bool) (v goja.Value, replaced bool) {
	if nothingHasToBSON && f.surelyLacks(o, "toBSON") {
		return nil, false
	}
	method := o.Get("toBSON")
	if method == nil {
		return nil, false
	}
	toBSON, ok := goja.AssertFunction(method)
	if !ok {
		return nil, false
	}
	v, err := toBSON(o)
	must(err)
	inner, isObject := v.(*goja.Object)
	return v, !isObject || inner != o
}
