package expect

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// ValueText formats a value for messages.
func ValueText(js *script.Engine, v goja.Value) string {
	if f, ok := asAsymmetric(v); ok {
		return f.text()
	}
	o := values.DefaultInspectOptions()
	o.ErrorStacks = false
	return js.Values.Inspect(v, o)
}

func (m *Match) valueText(v goja.Value) string { return ValueText(m.JS, v) }

// LabelledText returns the expected and received text with aligned labels.
func (m *Match) LabelledText(label, expected, received string) string {
	kind := ""
	if label != "" {
		kind = " " + label
	}
	not := ""
	if m.Not {
		not = "not "
	}
	return "Expected" + kind + ": " + not + expected + "\nReceived" + kind + ": " + received
}

// expectedAndReceived returns the text of most matchers: a diff if that is more informative.
func (m *Match) expectedAndReceived() string {
	if len(m.Args) == 0 {
		return "Received: " + m.valueText(m.Received)
	}
	return m.comparisonText(m.Arg(0), m.Received)
}

// comparisonText formats two values: as a diff if both have more than one line.
func (m *Match) comparisonText(expected, received goja.Value) string {
	if m.Not {
		return "Expected: not " + m.valueText(expected)
	}
	if _, ok := asAsymmetric(expected); ok {
		return "Expected: " + m.valueText(expected) + "\nReceived: " + m.valueText(received)
	}
	a, b := MultiLineText(m.JS, received), MultiLineText(m.JS, expected)
	if a == b {
		return "Expected: " + m.valueText(expected) + "\nReceived: " + m.valueText(received) +
			"\n\n(they print the same but differ in type, class or identity)"
	}
	if !strings.Contains(a, "\n") && !strings.Contains(b, "\n") {
		return "Expected: " + m.valueText(expected) + "\nReceived: " + m.valueText(received)
	}
	return Diff(b, a)
}

// Diff returns the diff between the expected and the received text.
func Diff(expected, received string) string {
	return "- Expected\n+ Received\n\n" + strings.TrimRight(display.LineDiff(received, expected), "\n")
}

// MultiLineText formats a value with each of its entries on a separate line; a string is returned unchanged.
func MultiLineText(js *script.Engine, v goja.Value) string {
	if goja.IsString(v) {
		return v.String()
	}
	o := values.UnlimitedInspectOptions()
	o.Compact = values.MultiLine
	return js.Values.Inspect(v, o)
}
