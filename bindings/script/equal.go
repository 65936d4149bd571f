package script

import (
	"bytes"
	"slices"

	"github.com/dop251/goja"

	"shardsh/balancer/keyorder"
)

// SameDocument compares two values as BSON: fields in order, numbers by value
// whatever their type.
func (s *Engine) SameDocument(a, b goja.Value) bool {
	if a.SameAs(b) {
		return true
	}
	x, err := s.World.ToBSON(a)
	if err != nil {
		return false
	}
	y, err := s.World.ToBSON(b)
	return err == nil && keyorder.Compare(x, y) == 0
}

// DeepEqual compares two values as assert.deepEqual does: the order of fields
// does not count. Strict comparison tells 1 from "1".
func (s *Engine) DeepEqual(a, b goja.Value, strict bool) bool {
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
		p, err := s.World.ToBSON(x)
		if err != nil {
			return false
		}
		q, err := s.World.ToBSON(y)
		return err == nil && p.Type == q.Type && bytes.Equal(p.Value, q.Value)
	}
	if class := s.CollectionClass(x); class != s.CollectionClass(y) {
		return false
	} else if class != nil {
		return s.DeepEqual(s.Spread(x), s.Spread(y), strict)
	}
	names, others := x.Keys(), y.Keys()
	if len(names) != len(others) {
		return false
	}
	for _, k := range names {
		if !slices.Contains(others, k) || !s.DeepEqual(x.Get(k), y.Get(k), strict) {
			return false
		}
	}
	return true
}

// CollectionClass returns the class of a Map or a Set; nil for all else.
func (s *Engine) CollectionClass(o *goja.Object) *goja.Object {
	for _, name := range []string{"Map", "Set"} {
		if class, ok := s.Runtime.GlobalObject().Get(name).(*goja.Object); ok && s.Runtime.InstanceOf(o, class) {
			return class
		}
	}
	return nil
}

// Spread is [...iterable].
func (s *Engine) Spread(v goja.Value) *goja.Object {
	var items []any
	s.Runtime.ForOf(v, func(item goja.Value) bool {
		items = append(items, item)
		return true
	})
	return s.Runtime.NewArray(items...)
}
