package expect

import (
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// contentMatchers returns the matchers for the contents of a value.
func contentMatchers() []Matcher {
	return []Matcher{
		{
			"toContain",
			"expected",
			contains,
			explainContents,
			"A text that has the other in it, or a list that has the very item.",
		},
		{"toContainEqual", "expected", containsEqual, explainContents, "A list that has an equal item."},
		{"toHaveLength", "expected:number", hasLength, explainLength, "A text or a list of so many."},
		{"toHaveProperty", "path:string|object value?:any", hasProperty, explainProperty,
			"An object with a field \"a.b\" or [\"a\", \"b\"], and perhaps its value."},
	}
}

// items returns the elements of an iterable; ok is false for other values.
func items(m *Match) (list []goja.Value, ok bool) {
	o, isObject := m.Received.(*goja.Object)
	if !isObject || o.GetSymbol(goja.SymIterator) == nil {
		return nil, false
	}
	m.JS.Runtime.ForOf(o, func(v goja.Value) bool {
		list = append(list, v)
		return true
	})
	return list, true
}

func contains(m *Match) bool {
	if goja.IsString(m.Received) {
		return strings.Contains(m.Received.String(), m.Text(0))
	}
	list, ok := items(m)
	if !ok {
		m.throwUnsuitable("a text or a list")
	}
	for _, v := range list {
		if v.StrictEquals(m.Arg(0)) || goja.IsNaN(v) && goja.IsNaN(m.Arg(0)) {
			return true
		}
	}
	return false
}

func containsEqual(m *Match) bool {
	list, ok := items(m)
	if !ok {
		m.throwUnsuitable("a list")
	}
	q := equality{js: m.JS}
	for _, v := range list {
		if q.same(v, m.Arg(0)) {
			return true
		}
	}
	return false
}

// throwUnsuitable throws if the matcher does not support the type of the value.
func (m *Match) throwUnsuitable(wanted string) {
	m.JS.Throw(ErrorName, "the received value has to be %s\nReceived: %s", wanted, m.valueText(m.Received))
}

// explainContents returns strings unchanged, because they may have several lines.
func explainContents(m *Match) string {
	if !goja.IsString(m.Received) || !strings.Contains(m.Received.String(), "\n") {
		return m.LabelledText("", m.valueText(m.Arg(0)), m.valueText(m.Received))
	}
	return m.LabelledText("", m.valueText(m.Arg(0)), "\n"+indented(m.Received.String()))
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

func hasLength(m *Match) bool {
	length := m.lengthOf(m.Received)
	if length == nil {
		m.throwUnsuitable("something with a length")
	}
	return length.ToFloat() == m.Arg(0).ToFloat()
}

func (m *Match) lengthOf(v goja.Value) goja.Value {
	if goja.IsUndefined(v) || goja.IsNull(v) {
		return nil
	}
	o := v.ToObject(m.JS.Runtime)
	length := script.Property(o, "length")
	if length == nil || !goja.IsNumber(length) {
		return nil
	}
	return length
}

func explainLength(m *Match) string {
	return m.LabelledText("length", m.valueText(m.Arg(0)), m.valueText(m.lengthOf(m.Received))) + "\nReceived: " +
		m.valueText(m.Received)
}

// propertyPath returns the field names in the path argument.
func (m *Match) propertyPath() []string {
	if o := m.Object(0); o != nil {
		var names []string
		for _, v := range script.Items(o) {
			names = append(names, v.String())
		}
		return names
	}
	return strings.FieldsFunc(m.Text(0), func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// propertyMatch is the result of following a path.
type propertyMatch struct {
	value       goja.Value // nil where the field is missing
	reachedPath string     // the existing part of the path
}

func hasProperty(m *Match) bool {
	at, way := m.Received, []string{}
	for _, name := range m.propertyPath() {
		o, ok := at.(*goja.Object)
		if !ok || o.Get(name) == nil {
			m.Details = propertyMatch{reachedPath: strings.Join(way, ".")}
			return false
		}
		at, way = o.Get(name), append(way, name)
	}
	m.Details = propertyMatch{value: at, reachedPath: strings.Join(way, ".")}
	return len(m.Args) < 2 || (&equality{js: m.JS}).same(at, m.Arg(1))
}

func explainProperty(m *Match) string {
	f := m.Details.(propertyMatch)
	text := "Expected path: " + strconv.Quote(strings.Join(m.propertyPath(), "."))
	if m.Not {
		text = "Expected path: not " + strconv.Quote(strings.Join(m.propertyPath(), "."))
	}
	if f.value == nil {
		return text + "\nReceived path: " + strconv.Quote(f.reachedPath) + "\nReceived: " + m.valueText(m.Received)
	}
	if len(m.Args) < 2 {
		return text + "\nReceived value: " + m.valueText(f.value)
	}
	return text + "\n\n" + m.comparisonText(m.Arg(1), f.value)
}
