package node

import (
	"math"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// newUtil returns the module util. Its inspect and format show values as Node does, not as print()
// does.
func (s *Globals) newUtil() *goja.Object {
	m := s.newModuleBuilder()
	script.Must(m.object.Set("inspect", s.JS.Values.InspectFunction()))
	m.add("format", func(c *call) any { return c.format() })
	script.Must(m.object.Set("promisify", m.globals.fromSource("<web>", webSource, "promisify")))
	script.Must(m.object.Set("types", m.globals.fromSource("<web>", webSource, "types")))
	m.add("isDeepStrictEqual", func(c *call) any { return script.DeepEqual(c.JS.Values, c.Arg(0), c.Arg(1), true) })
	return m.object
}

// format implements util.format, the only function that interprets placeholders such as %s.
func (c *call) format() string {
	if len(c.Args) == 0 {
		return ""
	}
	var b strings.Builder
	args := c.Args
	if text := args[0]; goja.IsString(text) {
		args = args[1:]
		if len(args) == 0 {
			return text.String()
		}
		args = c.formatPlaceholders(&b, text.String(), args)
	} else {
		b.WriteString(c.inspectUnquoted(text))
		args = args[1:]
	}
	for _, v := range args {
		b.WriteString(" " + c.inspectUnquoted(v))
	}
	return b.String()
}

// formatPlaceholders writes a string with arguments in place of its placeholders, and returns the
// remaining arguments.
func (c *call) formatPlaceholders(b *strings.Builder, text string, args []goja.Value) []goja.Value {
	for {
		before, rest, found := strings.Cut(text, "%")
		b.WriteString(before)
		switch {
		case !found:
			return args
		case rest == "":
			b.WriteByte('%')
			return args
		case rest[0] == '%':
			b.WriteByte('%')
			text = rest[1:]
			continue
		}
		show := formatVerbs()[rest[0]]
		if show == nil || len(args) == 0 {
			b.WriteByte('%')
			text = rest
			continue
		}
		b.WriteString(show(c, args[0]))
		args, text = args[1:], rest[1:]
	}
}

// formatVerbs returns the letters of placeholders with functions that format their argument.
func formatVerbs() map[byte]func(c *call, v goja.Value) string {
	return map[byte]func(c *call, v goja.Value) string{
		's': (*call).formatText,
		'd': func(c *call, v goja.Value) string { return c.formatNumber(v, "Number") },
		'i': func(c *call, v goja.Value) string { return c.formatNumber(v, "parseInt") },
		'f': func(c *call, v goja.Value) string { return c.formatNumber(v, "parseFloat") },
		'j': (*call).formatJSON,
		'o': func(c *call, v goja.Value) string {
			o := values.NodeInspectOptions()
			o.ShowHidden, o.Depth = true, 4
			return c.JS.Values.Inspect(v, o)
		},
		'O': func(c *call, v goja.Value) string { return c.JS.Values.Inspect(v, values.NodeInspectOptions()) },
		'c': func(*call, goja.Value) string { return "" }, // a CSS style, which is ignored
	}
}

// inspectUnquoted formats an argument without a placeholder: strings unchanged, others inspected.
func (c *call) inspectUnquoted(v goja.Value) string {
	if goja.IsString(v) {
		return v.String()
	}
	return c.JS.Values.Inspect(v, values.NodeInspectOptions())
}

// formatText implements %s: the result of toString for an object of a script's own class, and the
// inspected value for others.
func (c *call) formatText(v goja.Value) string {
	o, isObject := v.(*goja.Object)
	_, isFunction := goja.AssertFunction(v)
	switch {
	case isFunction, isObject && hasOwnToString(o):
		return v.String()
	case isObject:
		options := values.NodeInspectOptions()
		options.Depth = values.TopLevel
		return c.JS.Values.Inspect(v, options)
	case goja.IsString(v):
		return v.String()
	}
	return c.JS.Values.Inspect(v, values.NodeInspectOptions())
}

// hasOwnToString reports whether an object has a toString method that the language does not define.
func hasOwnToString(o *goja.Object) bool {
	if _, ok := goja.AssertFunction(o.Get("toString")); !ok {
		return false
	}
	for at := o; at != nil; at = at.Prototype() {
		if !slices.Contains(at.GetOwnPropertyNames(), "toString") {
			continue
		}
		class, ok := at.Get("constructor").(*goja.Object)
		return at == o || !ok || !slices.Contains(strings.Fields(languageClasses), script.OptionalText(class.Get("name")))
	}
	return false
}

const languageClasses = "Object Array Function Date RegExp Error TypeError RangeError SyntaxError ReferenceError " +
	"EvalError URIError " +
	"AggregateError Map Set WeakMap WeakSet Promise Symbol BigInt Number String Boolean ArrayBuffer DataView Uint8Array"

// formatNumber converts a value with one of the language's number functions, and formats the result.
func (c *call) formatNumber(v goja.Value, reader string) string {
	if _, ok := v.(*goja.Symbol); ok {
		return "NaN"
	}
	if goja.IsBigInt(v) {
		return v.String() + "n"
	}
	if _, ok := v.(*goja.Object); ok && reader == "Number" {
		// Objects that can't be converted to numbers are NaN.
		if err := c.JS.Runtime.Try(func() { v = v.ToNumber() }); err != nil {
			return "NaN"
		}
	}
	read, _ := goja.AssertFunction(c.JS.Runtime.GlobalObject().Get(reader))
	n, err := read(goja.Undefined(), v)
	c.JS.Check(err)
	if f := n.ToFloat(); f == 0 && math.Signbit(f) {
		return "-0"
	}
	return n.String()
}

// formatJSON implements %j.
func (c *call) formatJSON(v goja.Value) string {
	stringify, _ := goja.AssertFunction(c.JS.Runtime.GlobalObject().Get("JSON").(*goja.Object).Get("stringify"))
	text, err := stringify(goja.Undefined(), v)
	if err != nil {
		if strings.Contains(err.Error(), "circular") {
			return "[Circular]"
		}
		c.JS.Rethrow(err)
	}
	return text.String()
}
