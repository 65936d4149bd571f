package gojamem

import (
	"os"
	"reflect"
	"unsafe"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

// DisableEnv is the environment variable that turns the package off when it is 1.
const DisableEnv = "SHARDSH_SAFE_MEMORY"

// IsDisabled reports whether the environment turns the package off.
func IsDisabled() bool { return os.Getenv(DisableEnv) == "1" }

// Memory reads the objects of one runtime. The zero value knows nothing of them: callers
// ask the runtime.
type Memory struct {
	layout
	texts growingTexts
}

// New returns the Memory of a runtime in which no script has run. It is empty if safe is
// true, if the environment turns it off, or if this release of goja is not known.
func New(rt *goja.Runtime, safe bool) *Memory {
	if safe || IsDisabled() {
		return &Memory{}
	}
	m := &Memory{layout: detectLayout(rt)}
	if !m.IsKnown() || !m.selfCheck(rt) {
		return &Memory{}
	}
	return m
}

// IsKnown reports whether anything can be read.
func (m *Memory) IsKnown() bool { return m.object != nil }

// Values holds the values of an object's fields.
type Values = map[unistring.String]goja.Value

// Fields appends the names of a plain object's fields, in their order, and returns what
// holds their values. It returns false for an object that goja has to be asked about, such
// as one with names that are numbers. Not all of the fields have to be enumerable.
func (m *Memory) Fields(o *goja.Object, names []unistring.String) ([]unistring.String, Values, bool) {
	kind, data := m.dataOf(o)
	if kind != m.object || kind == nil {
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

// IsPlain reports whether what Fields found is a value: not an accessor, hidden or read-only.
func (m *Memory) IsPlain(v goja.Value) bool { return v != nil && kindOfValue(v) != m.property }

// IsHidden reports whether what Fields found, and is not plain, is a field that is not
// enumerable.
func (m *Memory) IsHidden(v goja.Value) bool {
	property := (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	return !*(*bool)(unsafe.Add(property, m.enumerable))
}

// Item returns an item of an array; nil if goja has to be asked.
func (m *Memory) Item(o *goja.Object, i int) goja.Value {
	kind, data := m.dataOf(o)
	if kind != m.array || kind == nil {
		return nil
	}
	if items := *(*[]goja.Value)(unsafe.Add(data, m.items)); i < len(items) && m.IsPlain(items[i]) {
		return items[i]
	}
	return nil
}

// Names returns the names of the fields of a plain object, or of those that an array has
// beside its items. It returns false if goja has to be asked.
func (m *Memory) Names(o *goja.Object) (names []unistring.String, array, ok bool) {
	kind, data := m.dataOf(o)
	switch {
	case kind == nil:
		return nil, false, false
	case kind == m.object:
		return *(*[]unistring.String)(unsafe.Add(data, m.names)), false, true
	case kind == m.array:
		return *(*[]unistring.String)(unsafe.Add(data, m.itemNames)), true, true
	}
	return nil, false, false
}

// Lacks reports whether Object.prototype or Array.prototype is sure to have no field of a
// name that the language does not give it.
func (m *Memory) Lacks(proto *goja.Object, name unistring.String) bool {
	kind, data := m.dataOf(proto)
	for _, p := range m.prototypes {
		if kind == p.kind && kind != nil {
			_, there := (*(*Values)(unsafe.Add(data, p.values)))[name]
			return !there
		}
	}
	return false
}

// maxMillis is how far a Date can be from 1970; that of an invalid one is farther.
const maxMillis = 8_640_000_000_000_000

// Date returns the milliseconds since 1970 of a Date. It returns false for what is not a
// Date, for an invalid one, and if goja has to be asked.
func (m *Memory) Date(o *goja.Object) (millis int64, ok bool) {
	kind, data := m.dataOf(o)
	if kind != m.date || kind == nil {
		return 0, false
	}
	millis = *(*int64)(unsafe.Add(data, m.millis))
	return millis, millis >= -maxMillis && millis <= maxMillis
}

// Replace makes o the object that fresh is: a plain object that nobody else holds. It may
// be called only if the Memory is known.
func (m *Memory) Replace(o, fresh *goja.Object) {
	_, data := m.dataOf(fresh)
	*(**goja.Object)(unsafe.Add(data, m.owner)) = o // the receiver of its accessors
	*o = *fresh
}

// selfCheck verifies the layout: it compares values read from memory with goja's own.
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
