package expect

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// equality compares like toEqual: undefined fields are ignored, and numbers are compared by value
// regardless of their BSON type. A strict comparison takes both into account.
type equality struct {
	js     *script.Engine
	strict bool
	// subset allows objects to have more fields than expected.
	subset bool
	// inProgress are the pairs that are being compared, to detect cycles.
	inProgress [][2]*goja.Object
}

func (e *equality) same(received, expected goja.Value) bool {
	if f, ok := asAsymmetric(expected); ok {
		return f.matches(received)
	}
	if received.SameAs(expected) {
		return true
	}
	a, isObject := received.(*goja.Object)
	b, isObjectToo := expected.(*goja.Object)
	if !isObject || !isObjectToo || !isPlain(a) || !isPlain(b) || a.ClassName() != b.ClassName() {
		return e.sameLeaves(received, expected)
	}
	if script.CollectionClass(e.js.Runtime, a) != nil || script.CollectionClass(e.js.Runtime, b) != nil {
		return e.sameLeaves(received, expected)
	}
	for _, pair := range e.inProgress {
		if pair[0] == a && pair[1] == b {
			return true
		}
	}
	e.inProgress = append(e.inProgress, [2]*goja.Object{a, b})
	defer func() { e.inProgress = e.inProgress[:len(e.inProgress)-1] }()
	return e.sameFields(a, b)
}

// isPlain reports whether an object is compared field by field.
func isPlain(o *goja.Object) bool {
	if o.ClassName() != "Object" && o.ClassName() != "Array" {
		return false
	}
	return script.Property(o, "_bsontype") == nil
}

func (e *equality) sameFields(a, b *goja.Object) bool {
	if a.ClassName() == "Array" && len(a.Keys()) != len(b.Keys()) {
		return false
	}
	values.Materialize(a)
	values.Materialize(b)
	if e.strict && !sameClass(a, b) {
		return false
	}
	for _, name := range b.Keys() {
		mine, wanted := a.Get(name), b.Get(name)
		if mine == nil {
			if e.strict || e.subset || !goja.IsUndefined(wanted) {
				return false
			}
			continue
		}
		if !e.same(mine, wanted) {
			return false
		}
	}
	if e.subset {
		return true
	}
	for _, name := range a.Keys() {
		if b.Get(name) == nil && (e.strict || !goja.IsUndefined(a.Get(name))) {
			return false
		}
	}
	return true
}

func sameClass(a, b *goja.Object) bool {
	p, q := a.Prototype(), b.Prototype()
	if p == nil || q == nil {
		return p == q
	}
	return p.SameAs(q)
}

// sameLeaves compares values without fields, or with private fields.
func (e *equality) sameLeaves(received, expected goja.Value) bool {
	a, isError := errorOf(received)
	b, isErrorToo := errorOf(expected)
	if isError && isErrorToo {
		return script.OptionalText(a.Get("message")) == script.OptionalText(b.Get("message")) &&
			script.OptionalText(a.Get("name")) == script.OptionalText(b.Get("name"))
	}
	if script.DeepEqual(e.js.Values, received, expected, true) {
		return true
	}
	return !e.strict && isNumeric(received) && isNumeric(expected) && script.SameDocument(e.js.Values, received, expected)
}

func errorOf(v goja.Value) (*goja.Object, bool) {
	o, ok := v.(*goja.Object)
	return o, ok && script.IsError(o)
}

// isNumeric reports whether a value is a number of any BSON type.
func isNumeric(v goja.Value) bool {
	if goja.IsNumber(v) {
		return true
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return false
	}
	switch script.OptionalText(o.Get("_bsontype")) {
	case "Long", "Int32", "Double", "Decimal128":
		return true
	}
	return false
}

// equalityMatchers returns the matchers that compare whole values.
func equalityMatchers() []Matcher {
	compare := func(q equality) func(*Match) bool {
		return func(m *Match) bool {
			own := q
			own.js = m.JS
			return own.same(m.Received, m.Arg(0))
		}
	}
	say := func(m *Match) string { return m.comparisonText(m.Arg(0), m.Received) }
	return []Matcher{
		{"toBe", "expected", func(m *Match) bool { return m.Received.SameAs(m.Arg(0)) }, say,
			"The same value, or the very same object."},
		{"toEqual", "expected", compare(equality{}), say,
			"An equal value: fields in any order, numbers of any BSON type, undefined fields left out."},
		{"toStrictEqual", "expected", compare(equality{strict: true}), say,
			"An equal value of the same types, undefined fields too."},
		{"toMatchObject", "expected:object", compare(equality{subset: true}), say,
			"An object that has these fields, and may have others."},
	}
}
