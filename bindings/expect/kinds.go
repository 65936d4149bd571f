package expect

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// kindMatchers returns the matchers for the type of a value.
func kindMatchers() []Matcher {
	is := func(name, help string, holds func(v goja.Value) bool) Matcher {
		return Matcher{name, "", func(m *Match) bool { return holds(m.Received) },
			func(m *Match) string { return "Received: " + m.valueText(m.Received) }, help}
	}
	return []Matcher{
		is("toBeTruthy", "Anything that counts as true.", goja.Value.ToBoolean),
		is("toBeFalsy", "Anything that counts as false.", func(v goja.Value) bool { return !v.ToBoolean() }),
		is("toBeNull", "null.", goja.IsNull),
		is("toBeUndefined", "undefined.", goja.IsUndefined),
		is("toBeDefined", "Anything but undefined.", func(v goja.Value) bool { return !goja.IsUndefined(v) }),
		is("toBeNaN", "NaN.", goja.IsNaN),
		{"toBeInstanceOf", "expected:function", func(m *Match) bool {
			return m.JS.Runtime.InstanceOf(m.Received, m.Object(0))
		}, func(m *Match) string {
			return m.LabelledText("", className(m.Arg(0)), m.valueText(m.Received))
		}, "An object of a class."},
		{"toBeTypeOf", "expected:string", func(m *Match) bool {
			return script.TypeOf(m.Received) == m.Text(0)
		}, func(m *Match) string {
			return m.LabelledText("type", m.Text(0), script.TypeOf(m.Received))
		}, "A value of a type as typeof says it."},
	}
}

func className(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return v.String()
	}
	return script.OptionalText(o.Get("name"))
}
