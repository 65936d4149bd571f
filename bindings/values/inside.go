package values

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// inside is where the engine keeps the fields of plain objects and the items of
// arrays. Asked for them, it makes an iterator and a copy of each name, and looks
// every one up again; what is written to a server or as text is mostly plain.
type inside struct {
	self          uintptr        // in Object: what it is
	object, array unsafe.Pointer // as which kinds of things plain objects and arrays are known there; nil for unknown
	values, names uintptr        // of a plain object
	items, others uintptr        // of an array: the items, and the names of what else it has
	property      reflect.Type   // what stands for a field that is more than a value
	enumerable    uintptr        // of that
}

// newInside returns what is known of this release of goja.
func newInside(rt *goja.Runtime) (in inside) {
	self, ok := reflect.TypeFor[goja.Object]().FieldByName("self")
	if !ok || self.Type.Kind() != reflect.Interface {
		return inside{}
	}
	in.self = self.Offset
	place := func(of *goja.Object, name string, want reflect.Type) uintptr {
		kind := reflect.ValueOf(of).Elem().FieldByIndex(self.Index).Elem().Type()
		if kind.Kind() != reflect.Pointer || kind.Elem().Kind() != reflect.Struct {
			return 0
		}
		f, found := kind.Elem().FieldByName(name)
		if !found || f.Type != want {
			return 0
		}
		at := f.Offset
		if len(f.Index) > 1 {
			outer := kind.Elem().Field(f.Index[0])
			if len(f.Index) > 2 || outer.Type.Kind() != reflect.Struct {
				return 0
			}
			at += outer.Offset
		}
		return at
	}
	object, array := rt.NewObject(), rt.NewArray()
	in.values = place(object, "values", reflect.TypeFor[map[unistring.String]goja.Value]())
	in.names = place(object, "propNames", reflect.TypeFor[[]unistring.String]())
	in.items = place(array, "values", reflect.TypeFor[[]goja.Value]())
	in.others = place(array, "propNames", reflect.TypeFor[[]unistring.String]())
	if in.values == 0 || in.names == 0 || in.items == 0 || in.others == 0 {
		return inside{}
	}
	must(object.DefineDataProperty("x", goja.Null(), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	kind, data := in.behind(object)
	in.property = reflect.TypeOf((*(*ownValues)(unsafe.Add(data, in.values)))["x"])
	enumerable, ok := in.property.Elem().FieldByName("enumerable")
	if !ok || enumerable.Type.Kind() != reflect.Bool {
		return inside{}
	}
	in.enumerable = enumerable.Offset
	in.object = kind
	in.array, _ = in.behind(array)
	return in
}

// behind returns what an object is: of which kind, and where.
func (in *inside) behind(o *goja.Object) (kind, data unsafe.Pointer) {
	self := (*[2]unsafe.Pointer)(unsafe.Add(unsafe.Pointer(o), in.self))
	return self[0], self[1]
}

// plain reports whether a value that the engine keeps is the field's own.
func (in *inside) plain(v goja.Value) bool { return v != nil && reflect.TypeOf(v) != in.property }

// hidden reports whether a value that isn't plain is of a field that is not enumerable.
func (in *inside) hidden(v goja.Value) bool {
	property := (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	return !*(*bool)(unsafe.Add(property, in.enumerable))
}

// fieldsOf appends the names of a plain object's fields, in their order, and returns
// what holds their values; false for an object that has to be asked, such as one
// with names that are numbers. Not all of them have to be enumerable.
func (in *inside) fieldsOf(o *goja.Object, names []unistring.String) ([]unistring.String, ownValues, bool) {
	kind, data := in.behind(o)
	if kind != in.object || kind == nil {
		return names, nil, false
	}
	own := *(*[]unistring.String)(unsafe.Add(data, in.names))
	for _, name := range own {
		if len(name) > 0 && name[0] >= '0' && name[0] <= '9' {
			return names, nil, false
		}
	}
	return append(names, own...), *(*ownValues)(unsafe.Add(data, in.values)), true
}

// ownValues holds the values of an object's fields.
type ownValues = map[unistring.String]goja.Value
