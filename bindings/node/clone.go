package node

import (
	"reflect"
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// newStructuredClone returns structuredClone for values that BSON can represent. It makes a deep copy
// of other plain containers.
func (s *Globals) newStructuredClone() goja.Value {
	return s.newFunction("structuredClone", func(c *call) goja.Value {
		return c.globals.clone(c.Arg(0),
			map[*goja.Object]*goja.Object{})
	})
}

func (s *Globals) clone(v goja.Value, seen map[*goja.Object]*goja.Object) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		return v
	}
	if copied := seen[o]; copied != nil {
		return copied
	}
	if class := script.CollectionClass(s.JS.Runtime, o); class != nil {
		return s.cloneCollection(o, class, seen)
	}
	if _, isFunction := goja.AssertFunction(o); isFunction {
		s.JS.Throw("DataCloneError", "a function could not be cloned")
	}
	var copied *goja.Object
	switch o.ClassName() {
	case "Array":
		copied = s.JS.Runtime.NewArray()
	case "Date":
		fresh, err := s.JS.Runtime.New(s.JS.Runtime.GlobalObject().Get("Date"), o.ToNumber())
		s.JS.Check(err)
		seen[o] = fresh
		return fresh
	case "Object":
		if o.Get("_bsontype") != nil { // immutable values
			return o
		}
		if data := s.cloneBytes(o); data != nil {
			seen[o] = data
			return data
		}
		copied = s.JS.Runtime.NewObject()
	default:
		return o
	}
	seen[o] = copied
	for _, k := range o.Keys() {
		script.Must(copied.Set(k, s.clone(o.Get(k), seen)))
	}
	return copied
}

// cloneBytes returns a copy of a typed array or of an ArrayBuffer; nil for other objects.
func (s *Globals) cloneBytes(o *goja.Object) *goja.Object {
	switch t := o.ExportType(); {
	case t == reflect.TypeFor[goja.ArrayBuffer]():
		data := o.Export().(goja.ArrayBuffer).Bytes()
		return s.JS.Runtime.ToValue(s.JS.Runtime.NewArrayBuffer(slices.Clone(data))).(*goja.Object)
	case t.Kind() == reflect.Slice:
		name := script.OptionalText(o.GetSymbol(goja.SymToStringTag))
		copied, err := s.JS.Runtime.New(s.JS.Runtime.GlobalObject().Get(name), o)
		s.JS.Check(err)
		return copied
	}
	return nil
}

// cloneCollection returns a deep copy of a Map or Set, which may contain itself.
func (s *Globals) cloneCollection(o, class *goja.Object, seen map[*goja.Object]*goja.Object) *goja.Object {
	copied, err := s.JS.Runtime.New(class)
	s.JS.Check(err)
	seen[o] = copied
	set, isMap := goja.AssertFunction(copied.Get("set"))
	add, _ := goja.AssertFunction(copied.Get("add"))
	s.JS.Runtime.ForOf(o, func(item goja.Value) bool {
		if !isMap {
			_, err = add(copied, s.clone(item, seen))
		} else {
			entry := item.ToObject(s.JS.Runtime)
			_, err = set(copied, s.clone(entry.Get("0"), seen), s.clone(entry.Get("1"), seen))
		}
		return err == nil
	})
	s.JS.Check(err)
	return copied
}
