package expect

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// textAndThrowMatchers returns the matchers for strings and thrown errors.
func textAndThrowMatchers() []Matcher {
	throws := func(name string) Matcher {
		return Matcher{name, "expected?:any", throwsError, explainThrown,
			"Passes if the function throws: anything, a message with this text, one that a pattern matches, a class of errors."}
	}
	return []Matcher{
		{"toMatch", "expected:any", func(m *Match) bool {
			if !goja.IsString(m.Received) {
				m.throwUnsuitable("a text")
			}
			return m.matchesText(m.Received.String(), m.Arg(0))
		}, explainContents, "Passes if the text matches the pattern, or contains the other text."},
		throws("toThrow"), throws("toThrowError"),
	}
}

// matchesText reports whether a string contains another string, or matches a pattern.
func (m *Match) matchesText(text string, expected goja.Value) bool {
	pattern, ok := expected.(*goja.Object)
	if !ok || pattern.ClassName() != "RegExp" {
		return strings.Contains(text, expected.String())
	}
	return matchesPattern(m.JS, pattern, text)
}

// matchesPattern runs a regular expression from the beginning of the string.
func matchesPattern(js *script.Engine, pattern *goja.Object, text string) bool {
	search, _ := goja.AssertFunction(js.Runtime.ToValue("").ToObject(js.Runtime).Get("search"))
	at, err := search(js.Runtime.ToValue(text), pattern)
	js.Check(err)
	return at.ToInteger() >= 0
}

// thrown is the value that a function threw; nil for none.
type thrown struct{ value goja.Value }

// throwsError checks what a function throws, or the reason with which a promise was rejected.
func throwsError(m *Match) bool {
	var t thrown
	m.Details = &t
	if f, ok := goja.AssertFunction(m.Received); ok {
		if ex := m.JS.Runtime.Try(func() {
			if _, err := f(goja.Undefined()); err != nil {
				m.JS.Rethrow(err)
			}
		}); ex != nil {
			t.value = ex.Value()
		}
	} else if e, ok := errorOf(m.Received); ok && m.Settled {
		t.value = e
	} else {
		m.throwUnsuitable("a function")
	}
	return t.value != nil && (!m.Has(0) || m.matchesThrown(t.value))
}

func (m *Match) matchesThrown(value goja.Value) bool {
	if f, ok := asAsymmetric(m.Arg(0)); ok {
		return f.matches(value)
	}
	expected := m.Object(0)
	if _, isClass := goja.AssertFunction(m.Arg(0)); isClass {
		return m.JS.Runtime.InstanceOf(value, expected)
	}
	if expected != nil && script.IsError(expected) {
		return messageOf(value) == script.OptionalText(expected.Get("message"))
	}
	return m.matchesText(messageOf(value), m.Arg(0))
}

// messageOf returns the message of an error, or the string form of another value.
func messageOf(v goja.Value) string {
	if o, ok := v.(*goja.Object); ok && script.Property(o, "message") != nil {
		return o.Get("message").String()
	}
	return v.String()
}

func explainThrown(m *Match) string {
	var wanted string
	switch _, isClass := goja.AssertFunction(m.Arg(0)); {
	case !m.Has(0):
		wanted = "an error"
	case isClass:
		wanted = className(m.Arg(0))
	default:
		wanted = m.valueText(m.Arg(0))
	}
	t := m.Details.(*thrown)
	if t.value == nil {
		return m.LabelledText("", wanted, "the function threw nothing")
	}
	text := m.valueText(t.value)
	if e, ok := errorOf(t.value); ok {
		text = script.OptionalText(e.Get("name")) + ": " + messageOf(e)
	}
	return m.LabelledText("", wanted, text)
}
