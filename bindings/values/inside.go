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
	property      unsafe.Pointer // as which kind of thing a field is known that is more than a value
	enumerable    uintptr        // of that
	date          unsafe.Pointer // as which kind of thing a Date is known; nil for unknown
	millis        uintptr        // of that

	objectProto, arrayProto ownPlace // of Object.prototype and Array.prototype
}

// placeOf returns where what is behind an object has a field; 0 where there is none of
// that name and type.
func placeOf(of *goja.Object, name string, want reflect.Type) (at uintptr) {
	kind := reflect.ValueOf(of).Elem().FieldByName("self").Elem().Type()
	if kind.Kind() != reflect.Pointer || kind.Elem().Kind() != reflect.Struct {
		return 0
	}
	in := kind.Elem()
	f, found := in.FieldByName(name)
	if !found || f.Type != want {
		return 0
	}
	for _, i := range f.Index {
		if in.Kind() != reflect.Struct {
			return 0
		}
		at += in.Field(i).Offset
		in = in.Field(i).Type
	}
	return at
}

// newInside returns what is known of this release of goja.
func newInside(rt *goja.Runtime, js *intrinsics) (in inside) {
	self, ok := reflect.TypeFor[goja.Object]().FieldByName("self")
	if !ok || self.Type.Kind() != reflect.Interface {
		return inside{}
	}
	in.self = self.Offset
	object, array := rt.NewObject(), rt.NewArray()
	in.values = placeOf(object, "values", reflect.TypeFor[map[unistring.String]goja.Value]())
	in.names = placeOf(object, "propNames", reflect.TypeFor[[]unistring.String]())
	in.items = placeOf(array, "values", reflect.TypeFor[[]goja.Value]())
	in.others = placeOf(array, "propNames", reflect.TypeFor[[]unistring.String]())
	if in.values == 0 || in.names == 0 || in.items == 0 || in.others == 0 {
		return inside{}
	}
	must(object.DefineDataProperty("x", goja.Null(), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	kind, data := in.behind(object)
	accessor := (*(*ownValues)(unsafe.Add(data, in.values)))["x"]
	in.property = kindOfValue(accessor)
	enumerable, ok := reflect.TypeOf(accessor).Elem().FieldByName("enumerable")
	if !ok || enumerable.Type.Kind() != reflect.Bool {
		return inside{}
	}
	in.enumerable = enumerable.Offset
	in.object = kind
	in.array, _ = in.behind(array)
	in.objectProto, in.arrayProto = in.ownOf(js.objectProto), in.ownOf(js.arrayProto)
	date := js.newDate(rt.ToValue(0))
	if in.millis = placeOf(date, "msec", reflect.TypeFor[int64]()); in.millis != 0 {
		in.date, _ = in.behind(date)
	}
	return in
}

// ownPlace is where an object of a kind has the values of its fields.
type ownPlace struct {
	kind   unsafe.Pointer // nil for unknown
	values uintptr
}

func (in *inside) ownOf(o *goja.Object) ownPlace {
	values := placeOf(o, "values", reflect.TypeFor[ownValues]())
	if values == 0 {
		return ownPlace{}
	}
	kind, _ := in.behind(o)
	return ownPlace{kind, values}
}

// bare reports whether an object of a place is sure to have no field of a name that
// the language does not give it.
func (in *inside) bare(o *goja.Object, at ownPlace, name unistring.String) bool {
	kind, data := in.behind(o)
	if kind != at.kind || kind == nil {
		return false
	}
	_, there := (*(*ownValues)(unsafe.Add(data, at.values)))[name]
	return !there
}

// mostMillis is how far a Date can be from 1970; an invalid one is farther.
const mostMillis = 8_640_000_000_000_000

// dateOf returns the milliseconds since 1970 that a Date stands for; false for what is
// none, or is invalid, or has to be asked.
func (in *inside) dateOf(o *goja.Object) (millis int64, ok bool) {
	kind, data := in.behind(o)
	if kind != in.date || kind == nil {
		return 0, false
	}
	millis = *(*int64)(unsafe.Add(data, in.millis))
	return millis, millis >= -mostMillis && millis <= mostMillis
}

// behind returns what an object is: of which kind, and where.
func (in *inside) behind(o *goja.Object) (kind, data unsafe.Pointer) {
	self := (*[2]unsafe.Pointer)(unsafe.Add(unsafe.Pointer(o), in.self))
	return self[0], self[1]
}

// plain reports whether a value that the engine keeps is the field's own.
func (in *inside) plain(v goja.Value) bool { return v != nil && kindOfValue(v) != in.property }

// kindOfValue returns as which kind of thing the engine knows a value.
func kindOfValue(v goja.Value) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[0] }

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
