package script

import (
	"bytes"
	"reflect"
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

// DeepEqual compares two values like assert.deepEqual, which ignores the order of fields and of the items of
// Maps and Sets. A strict comparison distinguishes 1 from "1".
func DeepEqual(w *values.Realm, a, b goja.Value, strict bool) bool {
	d := deepComparison{realm: w, strict: strict, inProgress: make(map[[2]*goja.Object]bool)}
	return d.same(a, b)
}

type deepComparison struct {
	realm  *values.Realm
	strict bool
	// inProgress are the pairs that are being compared, to detect cycles.
	inProgress map[[2]*goja.Object]bool
}

func (d *deepComparison) same(a, b goja.Value) bool {
	x, isObject := a.(*goja.Object)
	y, isObjectToo := b.(*goja.Object)
	if !isObject || !isObjectToo {
		if d.strict {
			return a.SameAs(b)
		}
		return a.Equals(b) || goja.IsNaN(a) && goja.IsNaN(b)
	}
	pair := [2]*goja.Object{x, y}
	if x.SameAs(y) || d.inProgress[pair] {
		return true
	}
	if _, isFunction := goja.AssertFunction(x); isFunction || x.ClassName() != y.ClassName() {
		return false
	}
	if len(d.inProgress) == maxCallDepth {
		panic(d.realm.Errors.New("RangeError", nestingMessage))
	}
	d.inProgress[pair] = true
	defer delete(d.inProgress, pair)
	switch x.ClassName() {
	case "Date", "RegExp":
		return d.sameBSON(x, y)
	case "Number", "String", "Boolean": // new Number(1)
		rt := d.realm.Runtime()
		return rt.ToValue(x.Export()).SameAs(rt.ToValue(y.Export()))
	case "Error":
		for _, name := range []string{"name", "message"} { // which Keys leaves out
			if OptionalText(x.Get(name)) != OptionalText(y.Get(name)) {
				return false
			}
		}
	}
	if x.Get("_bsontype") != nil {
		return d.sameBSON(x, y)
	}
	if data, ok := arrayBufferBytes(x); ok {
		others, ok := arrayBufferBytes(y)
		return ok && bytes.Equal(data, others)
	}
	if class := CollectionClass(d.realm.Runtime(), x); class != CollectionClass(d.realm.Runtime(), y) {
		return false
	} else if class != nil {
		return d.sameItems(x, y)
	}
	return d.sameFields(x, y)
}

func (d *deepComparison) sameBSON(x, y *goja.Object) bool {
	p, err := d.realm.ToBSON(x)
	if err != nil {
		return false
	}
	q, err := d.realm.ToBSON(y)
	return err == nil && p.Type == q.Type && bytes.Equal(p.Value, q.Value)
}

func (d *deepComparison) sameFields(x, y *goja.Object) bool {
	names, others := x.Keys(), y.Keys()
	slices.Sort(names)
	slices.Sort(others)
	return slices.Equal(names, others) &&
		!slices.ContainsFunc(names, func(name string) bool { return !d.same(x.Get(name), y.Get(name)) })
}

// sameItems compares two Maps or two Sets.
func (d *deepComparison) sameItems(x, y *goja.Object) bool {
	get, isMap := goja.AssertFunction(y.Get("get"))
	key := func(item goja.Value) goja.Value {
		if isMap {
			return item.(*goja.Object).Get("0")
		}
		return item
	}
	// Items that are no member of the other as they are may be equal to one of it.
	var left []goja.Value
	for _, item := range iterableItems(d.realm.Runtime(), x) {
		if !hasMember(y, key(item)) {
			left = append(left, item)
			continue
		}
		if !isMap {
			continue
		}
		if v, err := get(y, key(item)); err != nil || !d.same(item.(*goja.Object).Get("1"), v) {
			return false
		}
	}
	others := iterableItems(d.realm.Runtime(), y)
	others = slices.DeleteFunc(others, func(item goja.Value) bool { return hasMember(x, key(item)) })
	if len(left) != len(others) {
		return false
	}
	for _, item := range left {
		i := slices.IndexFunc(others, func(other goja.Value) bool { return d.same(item, other) })
		if i < 0 {
			return false
		}
		others = slices.Delete(others, i, i+1)
	}
	return true
}

func arrayBufferBytes(o *goja.Object) (data []byte, ok bool) {
	if o.ExportType() != reflect.TypeFor[goja.ArrayBuffer]() {
		return nil, false
	}
	buffer, ok := o.Export().(goja.ArrayBuffer)
	return buffer.Bytes(), ok
}

// hasMember reports whether a Map has a key, or a Set an item.
func hasMember(collection *goja.Object, key goja.Value) bool {
	has, _ := goja.AssertFunction(collection.Get("has"))
	v, err := has(collection, key)
	return err == nil && v.ToBoolean()
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

// iterableItems returns the items of an iterable.
func iterableItems(rt *goja.Runtime, v goja.Value) []goja.Value {
	var items []goja.Value
	rt.ForOf(v, func(item goja.Value) bool {
		items = append(items, item)
		return true
	})
	return items
}
