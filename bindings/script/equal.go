package script

import (
	"bytes"
	"slices"

	"github.com/dop251/goja"

	"shardsh/balancer/keyorder"
	"shardsh/bindings/values"
)

// SameDocument compares two values as BSON: fields in order, numbers by value regardless of their type.
func SameDocument(w *values.Realm, a, b goja.Value) bool {
	if a.SameAs(b) {
		return true
	}
	x, err := w.ToBSON(a)
	if err != nil {
		return false
	}
	y, err := w.ToBSON(b)
	return err == nil && keyorder.Compare(x, y) == 0
}

// DeepEqual compares two values like assert.deepEqual, which ignores the order of fields. A strict
// comparison distinguishes 1 from "1".
func DeepEqual(w *values.Realm, a, b goja.Value, strict bool) bool {
	x, isObject := a.(*goja.Object)
	y, isObjectToo := b.(*goja.Object)
	if !isObject || !isObjectToo {
		if strict {
			return a.SameAs(b)
		}
		return a.Equals(b) || goja.IsNaN(a) && goja.IsNaN(b)
	}
	if x.SameAs(y) {
		return true
	}
	if x.ClassName() != y.ClassName() {
		return false
	}
	bsonType := x.Get("_bsontype")
	if bsonType != nil || x.ClassName() == "Date" || x.ClassName() == "RegExp" {
		p, err := w.ToBSON(x)
		if err != nil {
			return false
		}
		q, err := w.ToBSON(y)
		return err == nil && p.Type == q.Type && bytes.Equal(p.Value, q.Value)
	}
	if class := CollectionClass(w.Runtime(), x); class != CollectionClass(w.Runtime(), y) {
		return false
	} else if class != nil {
		return DeepEqual(w, Spread(w.Runtime(), x), Spread(w.Runtime(), y), strict)
	}
	names, others := x.Keys(), y.Keys()
	if len(names) != len(others) {
		return false
	}
	for _, k := range names {
		if !slices.Contains(others, k) || !DeepEqual(w, x.Get(k), y.Get(k), strict) {
			return false
		}
	}
	return true
}

// CollectionClass returns the class of a Map or a Set; nil for other values.
func CollectionClass(rt *goja.Runtime, o *goja.Object) *goja.Object {
	for _, name := range []string{"Map", "Set"} {
		if class, ok := rt.GlobalObject().Get(name).(*goja.Object); ok && rt.InstanceOf(o, class) {
			return class
		}
	}
	return nil
}

// Spread returns [...iterable].
func Spread(rt *goja.Runtime, v goja.Value) *goja.Object {
	var items []any
	rt.ForOf(v, func(item goja.Value) bool {
		items = append(items, item)
		return true
	})
	return rt.NewArray(items...)
}
