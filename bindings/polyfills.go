package bindings

import (
	_ "embed"
	"strings"

	"github.com/dop251/goja"
)

//go:embed polyfills.js
var polyfillSource string

// polyfillNames() are members the engine or the language lacks and scripts use
// (spec 04 §4.3, §4.11), by the object that has them. polyfills.js defines all
// of them; it is read when the first is.
func polyfillNames() map[string]string {
	return map[string]string{
		"Object":           "groupBy extend merge deepMerge keySet isEmpty bsonsize",
		"Map":              "groupBy",
		"Promise":          "withResolvers try any",
		"Array":            "contains unique shuffle sort fetchRefs sum avg stdDev tojson fromAsync",
		"Number.prototype": "zeroPad toPercentStr toLocaleString",
		"String.prototype": "ltrim rtrim pad isWellFormed toWellFormed",
		"Date":             "timeFunc",
		"Date.prototype":   "tojson toLocaleString toLocaleDateString toLocaleTimeString",
		iterators:          "map filter take drop flatMap reduce toArray forEach some every find",
	}
}

// iterators is the object all iterators inherit from.
const iterators = "Iterator.prototype"

// iteratorPrototype is what the prototype of array iterators inherits from.
func (s *Shell) iteratorPrototype() *goja.Object {
	values, _ := goja.AssertFunction(s.rt.NewArray().Get("values"))
	iterator, err := values(s.rt.NewArray())
	if err != nil {
		s.rethrow(err)
	}
	return iterator.(*goja.Object).Prototype().Prototype()
}

func (s *Shell) definePolyfills() {
	loaded := map[string]*goja.Object{}
	load := func() {
		if len(loaded) > 0 {
			return
		}
		v, err := s.rt.RunScript("<polyfills>", polyfillSource)
		if err != nil {
			s.rethrow(err)
		}
		table := v.(*goja.Object)
		for _, owner := range table.Keys() {
			loaded[owner] = table.Get(owner).(*goja.Object)
		}
	}
	global := s.rt.GlobalObject()
	iteratorPrototype := s.iteratorPrototype()
	s.lazy("Iterator", func() goja.Value {
		load()
		class := loaded["Iterator"].Get("Iterator").(*goja.Object)
		must(class.Set("prototype", iteratorPrototype))
		return class
	})
	for owner, names := range polyfillNames() {
		if owner == iterators {
			for _, member := range strings.Fields(names) {
				s.world.DefineLazy(iteratorPrototype, member, func() goja.Value {
					load()
					return loaded[iterators].Get(member)
				})
			}
			continue
		}
		name, _, onPrototype := strings.Cut(owner, ".")
		target := global.Get(name).(*goja.Object)
		if onPrototype {
			target = target.Get("prototype").(*goja.Object)
		}
		for _, member := range strings.Fields(names) {
			s.world.DefineLazy(target, member, func() goja.Value {
				load()
				return loaded[owner].Get(member)
			})
		}
	}
	if symbol := global.Get("Symbol").(*goja.Object); symbol.Get("asyncIterator") == nil {
		define(symbol, "asyncIterator", goja.NewSymbol("Symbol.asyncIterator"))
	}
}

// newStructuredClone makes structuredClone for the values BSON can carry, and
// falls back on a deep copy for plain containers.
func (s *Shell) newStructuredClone() goja.Value {
	return s.function("structuredClone", func(c *call) goja.Value { return c.s.clone(c.arg(0), map[*goja.Object]*goja.Object{}) })
}

func (s *Shell) clone(v goja.Value, seen map[*goja.Object]*goja.Object) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		return v
	}
	if copied := seen[o]; copied != nil {
		return copied
	}
	if class := s.collectionClass(o); class != nil {
		fresh, err := s.rt.New(class, s.clone(s.spread(o), seen))
		if err != nil {
			s.rethrow(err)
		}
		return fresh
	}
	var copied *goja.Object
	switch o.ClassName() {
	case "Array":
		copied = s.rt.NewArray()
	case "Date":
		fresh, err := s.rt.New(s.rt.GlobalObject().Get("Date"), o.ToNumber())
		if err != nil {
			s.rethrow(err)
		}
		return fresh
	case "Object":
		if o.Get("_bsontype") != nil { // values that never change
			return o
		}
		copied = s.rt.NewObject()
	case "Function":
		s.throw("DataCloneError", "a function could not be cloned")
	default:
		return o
	}
	seen[o] = copied
	for _, k := range o.Keys() {
		must(copied.Set(k, s.clone(o.Get(k), seen)))
	}
	return copied
}
