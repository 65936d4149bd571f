package bindings

import (
	"bytes"
	"slices"

	"github.com/dop251/goja"

	"shardsh/balancer/keyorder"
)

// sameDocument compares two values as BSON: fields in order, numbers by value
// whatever their type.
func (s *Engine) sameDocument(a, b goja.Value) bool {
	if a.SameAs(b) {
		return true
	}
	x, err := s.world.ToBSON(a)
	if err != nil {
		return false
	}
	y, err := s.world.ToBSON(b)
	return err == nil && keyorder.Compare(x, y) == 0
}

// deepEqual compares two values as assert.deepEqual does: the order of fields
// does not count. Strict comparison tells 1 from "1".
func (s *Engine) deepEqual(a, b goja.Value, strict bool) bool {
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
		p, err := s.world.ToBSON(x)
		if err != nil {
			return false
		}
		q, err := s.world.ToBSON(y)
		return err == nil && p.Type == q.Type && bytes.Equal(p.Value, q.Value)
	}
	if class := s.collectionClass(x); class != s.collectionClass(y) {
		return false
	} else if class != nil {
		return s.deepEqual(s.spread(x), s.spread(y), strict)
	}
	names, others := x.Keys(), y.Keys()
	if len(names) != len(others) {
		return false
	}
	for _, k := range names {
		if !slices.Contains(others, k) || !s.deepEqual(x.Get(k), y.Get(k), strict) {
			return false
		}
	}
	return true
}

// collectionClass is the class of a Map or a Set; nil for all else.
func (s *Engine) collectionClass(o *goja.Object) *goja.Object {
	for _, name := range []string{"Map", "Set"} {
		if class, ok := s.rt.GlobalObject().Get(name).(*goja.Object); ok && s.rt.InstanceOf(o, class) {
			return class
		}
	}
	return nil
}

// spread is [...iterable].
func (s *Engine) spread(v goja.Value) *goja.Object {
	var items []any
	s.rt.ForOf(v, func(item goja.Value) bool {
		items = append(items, item)
		return true
	})
	return s.rt.NewArray(items...)
}
