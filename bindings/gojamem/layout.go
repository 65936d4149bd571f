package gojamem

import (
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// layout holds the offsets of fields in goja's objects. The zero value is that of an unknown release.
// Kinds are the first words of interfaces; nil is an unknown kind.
type layout struct {
	self                  uintptr        // in goja.Object: the interface of the implementation
	objectKind, arrayKind unsafe.Pointer // kinds of plain objects and arrays
	values, names         uintptr        // in a plain object
	owner                 uintptr        // in a plain object: the goja.Object that owns it
	items                 uintptr        // in an array
	itemNames             uintptr        // in an array: the names of its fields other than items
	propertyKind          unsafe.Pointer // kind of a field with attributes or accessors
	enumerable            uintptr        // in such a field
	dateKind              unsafe.Pointer // kind of a Date
	millis                uintptr        // in a Date

	prototypes [2]valuesOffset // of Object.prototype and Array.prototype
}

// valuesOffset is the offset of the field values in objects of a kind.
type valuesOffset struct {
	kind   unsafe.Pointer
	values uintptr
}

// detectLayout returns the layout of this release; the zero value if the release is unknown.
func detectLayout(rt *goja.Runtime) (l layout) {
	self, ok := reflect.TypeFor[goja.Object]().FieldByName("self")
	if !ok || self.Type.Kind() != reflect.Interface {
		return layout{}
	}
	l.self = self.Offset
	object, array := rt.NewObject(), rt.NewArray()
	l.values = fieldOffset(object, "values", reflect.TypeFor[Values]())
	l.names = fieldOffset(object, "propNames", reflect.TypeFor[[]unistring.String]())
	l.owner = fieldOffset(object, "val", reflect.TypeFor[*goja.Object]())
	l.items = fieldOffset(array, "values", reflect.TypeFor[[]goja.Value]())
	l.itemNames = fieldOffset(array, "propNames", reflect.TypeFor[[]unistring.String]())
	if l.values == 0 || l.names == 0 || l.owner == 0 || l.items == 0 || l.itemNames == 0 {
		return layout{}
	}
	if object.DefineDataProperty("x", goja.Null(), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE) != nil {
		return layout{}
	}
	kind, data := l.dataOf(object)
	property := (*(*Values)(unsafe.Add(data, l.values)))["x"]
	of := reflect.TypeOf(property)
	if of == nil || of.Kind() != reflect.Pointer || of.Elem().Kind() != reflect.Struct {
		return layout{}
	}
	enumerable, ok := of.Elem().FieldByName("enumerable")
	if !ok || enumerable.Type.Kind() != reflect.Bool || len(enumerable.Index) != 1 {
		return layout{}
	}
	l.propertyKind, l.enumerable = kindOfValue(property), enumerable.Offset
	l.objectKind = kind
	l.arrayKind, _ = l.dataOf(array)
	for i, name := range []string{"Object", "Array"} {
		l.prototypes[i] = l.prototype(rt, name)
	}
	if date, err := rt.New(rt.GlobalObject().Get("Date"), rt.ToValue(5)); err == nil {
		if l.millis = fieldOffset(date, "msec", reflect.TypeFor[int64]()); l.millis != 0 {
			if kind, data := l.dataOf(date); *(*int64)(unsafe.Add(data, l.millis)) == 5 {
				l.dateKind = kind
			}
		}
	}
	return l
}

func (l *layout) prototype(rt *goja.Runtime, of string) valuesOffset {
	constructor, _ := rt.GlobalObject().Get(of).(*goja.Object)
	if constructor == nil {
		return valuesOffset{}
	}
	o, _ := constructor.Get("prototype").(*goja.Object)
	if o == nil {
		return valuesOffset{}
	}
	values := fieldOffset(o, "values", reflect.TypeFor[Values]())
	if values == 0 {
		return valuesOffset{}
	}
	kind, _ := l.dataOf(o)
	return valuesOffset{kind, values}
}

// fieldOffset returns the offset of a field in the struct behind an object; 0 if no field has that name
// and type.
func fieldOffset(of *goja.Object, name string, want reflect.Type) (at uintptr) {
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

// dataOf returns the type word and data pointer of an object's implementation.
func (l *layout) dataOf(o *goja.Object) (kind, data unsafe.Pointer) {
	self := (*[2]unsafe.Pointer)(unsafe.Add(unsafe.Pointer(o), l.self))
	return self[0], self[1]
}

// kindOfValue returns the kind of a value.
func kindOfValue(v goja.Value) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[0] }
