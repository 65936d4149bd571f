package script

import (
	_ "embed"
	"strings"

	"github.com/dop251/goja"
)

//go:embed polyfills.js
var polyfillSource string

// polyfillNames returns the members that the engine or the language lacks and that scripts use
// (rules/04-values-and-language §4.3, §4.11), by the object that has them. polyfills.js defines all of
// them; it runs on the first access to any of them.
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

// iterators is the prototype of all iterators.
const iterators = "Iterator.prototype"

// iteratorPrototype returns the prototype of the array iterators' prototype.
func iteratorPrototype(rt *goja.Runtime) *goja.Object {
	values, _ := goja.AssertFunction(rt.NewArray().Get("values"))
	iterator, err := values(rt.NewArray())
	Must(err)
	return iterator.(*goja.Object).Prototype().Prototype()
}

func (s *Engine) definePolyfills() {
	loaded := map[string]*goja.Object{}
	load := func() {
		if len(loaded) > 0 {
			return
		}
		v, err := s.Runtime.RunScript("<polyfills>", polyfillSource)
		s.Check(err)
		table := v.(*goja.Object)
		for _, owner := range table.Keys() {
			loaded[owner] = table.Get(owner).(*goja.Object)
		}
	}
	global := s.Runtime.GlobalObject()
	proto := iteratorPrototype(s.Runtime)
	s.DefineLazyGlobal("Iterator", func() goja.Value {
		load()
		class := loaded["Iterator"].Get("Iterator").(*goja.Object)
		Must(class.Set("prototype", proto))
		return class
	})
	for owner, names := range polyfillNames() {
		target := proto
		if owner != iterators {
			name, _, onPrototype := strings.Cut(owner, ".")
			if target = global.Get(name).(*goja.Object); onPrototype {
				target = target.Get("prototype").(*goja.Object)
			}
		}
		for _, member := range strings.Fields(names) {
			s.Values.DefineLazy(target, member, func() goja.Value {
				load()
				return loaded[owner].Get(member)
			})
		}
	}
	if symbol := global.Get("Symbol").(*goja.Object); symbol.Get("asyncIterator") == nil {
		Define(symbol, "asyncIterator", goja.NewSymbol("Symbol.asyncIterator"))
	}
}
