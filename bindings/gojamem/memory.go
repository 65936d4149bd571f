package gojamem

import (
	"os"
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// DisableEnv is the environment variable that disables the package when it is 1.
const DisableEnv = "SHARDSH_SAFE_MEMORY"

// IsDisabled reports whether the environment disables the package.
func IsDisabled() bool { return os.Getenv(DisableEnv) == "1" }

// Memory reads the objects of one runtime. The zero value can read nothing; callers then use goja's
// API.
type Memory struct {
	layout
	texts growingTexts
}

// New returns the Memory of a runtime in which no script has run. It is empty if safe is true, if the
// environment disables the package, or if this release of goja is unknown.
func New(rt *goja.Runtime, safe bool) *Memory {
	if safe || IsDisabled() {
		return &Memory{}
	}
	m := &Memory{layout: detectLayout(rt)}
	if !m.CanRead() || !m.selfCheck(rt) {
		return &Memory{}
	}
	return m
}

// CanRead reports whether anything can be read.
func (m *Memory) CanRead() bool { return m.objectKind != nil }

// Values holds the values of an object's fields.
type Values = map[unistring.String]goja.Value

// Fields appends the names of a plain object's fields, in their order, and returns the map of their
// values. It returns false for objects that callers have to read with goja's API, such as one with
// numeric names. Some fields may not be enumerable.
func (m *Memory) Fields(o *goja.Object, names []unistring.String) ([]unistring.String, Values, bool) {
	kind, data := m.dataOf(o)
	if kind != m.objectKind || kind == nil {
		return names, nil, false
	}
	own := *(*[]unistring.String)(unsafe.Add(data, m.names))
	for _, name := range own {
		if len(name) > 0 && name[0] >= '0' && name[0] <= '9' {
			return names, nil, false
		}
	}
	return append(names, own...), *(*Values)(unsafe.Add(data, m.values)), true
}

// IsPlain reports whether a value from Fields is a plain value: not an accessor, and neither hidden nor
// read-only.
func (m *Memory) IsPlain(v goja.Value) bool { return v != nil && kindOfValue(v) != m.propertyKind }

// IsHidden reports whether a value from Fields that is not plain belongs to a field that is not
// enumerable.
func (m *Memory) IsHidden(v goja.Value) bool {
	property := (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	return !*(*bool)(unsafe.Add(property, m.enumerable))
}

// Item returns an item of an array; nil if the caller has to use goja's API.
func (m *Memory) Item(o *goja.Object, i int) goja.Value {
	kind, data := m.dataOf(o)
	if kind != m.arrayKind || kind == nil {
		return nil
	}
	if items := *(*[]goja.Value)(unsafe.Add(data, m.items)); i < len(items) && m.IsPlain(items[i]) {
		return items[i]
	}
	return nil
}

// Names returns the names of the fields of a plain object, or of those that an array has besides its
// items. It returns false if the caller has to use goja's API.
func (m *Memory) Names(o *goja.Object) (names []unistring.String, isArray, ok bool) {
	kind, data := m.dataOf(o)
	switch {
	case kind == nil:
		return nil, false, false
	case kind == m.objectKind:
		return *(*[]unistring.String)(unsafe.Add(data, m.names)), false, true
	case kind == m.arrayKind:
		return *(*[]unistring.String)(unsafe.Add(data, m.itemNames)), true, true
	}
	return nil, false, false
}

// PrototypeLacks reports whether Object.prototype or Array.prototype certainly has no field with a name that the
// language does not define.
func (m *Memory) PrototypeLacks(proto *goja.Object, name unistring.String) bool {
	kind, data := m.dataOf(proto)
	for _, p := range m.prototypes {
		if kind == p.kind && kind != nil {
			_, ok := (*(*Values)(unsafe.Add(data, p.values)))[name]
			return !ok
		}
	}
	return false
}

// maxMillis is the maximum distance of a Date from 1970; the value of an invalid Date is larger.
const maxMillis = 8_640_000_000_000_000

// DateMillis returns the milliseconds of a Date since 1970. It returns false for values other than Dates, for
// an invalid Date, and if the caller has to use goja's API.
func (m *Memory) DateMillis(o *goja.Object) (millis int64, ok bool) {
	kind, data := m.dataOf(o)
	if kind != m.dateKind || kind == nil {
		return 0, false
	}
	millis = *(*int64)(unsafe.Add(data, m.millis))
	return millis, millis >= -maxMillis && millis <= maxMillis
}

// Replace makes o the object that fresh is. fresh must be a plain object without other references.
// Replace may be called only if CanRead returns true.
func (m *Memory) Replace(o, fresh *goja.Object) {
	_, data := m.dataOf(fresh)
	*(**goja.Object)(unsafe.Add(data, m.owner)) = o // the receiver of its accessors
	*o = *fresh
}

// selfCheck verifies the layout by comparing values read from memory with those of goja's API.
func (m *Memory) selfCheck(rt *goja.Runtime) bool {
	o := rt.NewObject()
	text := rt.ToValue("text")
	define := func(name string, enumerable goja.Flag) bool {
		return o.DefineDataProperty(name, text, goja.FLAG_FALSE, goja.FLAG_FALSE, enumerable) == nil
	}
	if o.Set("b", 1) != nil || o.Set("a", text) != nil || !define("fixed", goja.FLAG_TRUE) ||
		!define("hidden", goja.FLAG_FALSE) {
		return false
	}
	names, values, ok := m.Fields(o, nil)
	want := []unistring.String{"b", "a", "fixed", "hidden"}
	if !ok || !reflect.DeepEqual(names, want) || len(values) != len(want) ||
		!m.IsPlain(values["a"]) || values["a"] != text || m.IsPlain(values["fixed"]) || m.IsHidden(values["fixed"]) ||
		m.IsPlain(values["hidden"]) || !m.IsHidden(values["hidden"]) {
		return false
	}
	list := rt.NewArray("text", 2)
	if list.Set("more", 1) != nil {
		return false
	}
	names, array, ok := m.Names(list)
	if !ok || !array || len(names) != 2 || m.Item(list, 2) != nil || m.Item(list, 0) == nil ||
		!m.Item(list, 0).StrictEquals(text) {
		return false
	}
	old := rt.NewObject()
	this := rt.ToValue(func(call goja.FunctionCall) goja.Value { return call.This })
	if o.DefineAccessorProperty("this", this, nil, goja.FLAG_TRUE, goja.FLAG_TRUE) != nil {
		return false
	}
	m.Replace(old, o)
	return old.Get("a") == text && old.Get("this") == goja.Value(old)
}
