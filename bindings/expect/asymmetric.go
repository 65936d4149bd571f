package expect

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// asymmetricMatcher is an expected value that matches several values.
type asymmetricMatcher struct {
	script.OpaqueObject
	text    func() string
	matches func(goja.Value) bool
}

func asAsymmetric(v goja.Value) (*asymmetricMatcher, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	return script.Receiver[*asymmetricMatcher](o)
}

// defineAsymmetric adds expect.anything() and similar functions, and expect.not with their negations.
func (e *expectFunc) defineAsymmetric(f *goja.Object) {
	not := e.js.Runtime.NewObject()
	proto := e.js.Runtime.NewObject()
	for name, build := range map[string]func(c *script.Call) func(goja.Value) bool{
		"anything": func(*script.Call) func(goja.Value) bool {
			return func(v goja.Value) bool { return !goja.IsNull(v) && !goja.IsUndefined(v) }
		},
		"any":              e.anyOf,
		"objectContaining": e.objectContaining,
		"arrayContaining":  e.arrayContaining,
		"stringContaining": func(c *script.Call) func(goja.Value) bool {
			part := c.Text(0)
			return func(v goja.Value) bool { return goja.IsString(v) && strings.Contains(v.String(), part) }
		},
		"stringMatching": e.stringMatching,
		"closeTo": func(c *script.Call) func(goja.Value) bool {
			args := []goja.Value{c.Arg(0), c.Arg(1)}
			return func(v goja.Value) bool {
				return (goja.IsNumber(v) || isNumeric(v)) &&
					isCloseTo(&Match{Call: &script.Call{JS: e.js, Args: args}, Received: v})
			}
		},
	} {
		for _, opposite := range []bool{false, true} {
			make := e.js.NewFunction(name, func(c *script.Call) goja.Value {
				matches, args := build(c), append([]goja.Value(nil), c.Args...)
				a := &asymmetricMatcher{
					matches: func(v goja.Value) bool { return matches(v) != opposite },
					text:    func() string { return e.callText(name, opposite, args) },
				}
				o := e.js.NewInstance(a, proto)
				e.js.Values.SetPrinter(o, a.text)
				return o
			})
			if opposite {
				script.Define(not, name, make)
			} else {
				script.Define(f, name, make)
			}
		}
	}
	script.Define(f, "not", not)
}

// callText returns the source text of the call.
func (e *expectFunc) callText(name string, opposite bool, args []goja.Value) string {
	text := "expect."
	if opposite {
		text += "not."
	}
	shown := make([]string, len(args))
	for i, v := range args {
		shown[i] = ValueText(e.js, v)
		if _, ok := goja.AssertFunction(v); ok {
			shown[i] = className(v)
		}
	}
	return text + name + "(" + strings.Join(shown, ", ") + ")"
}

// anyOf matches values of a class, including primitive values.
func (e *expectFunc) anyOf(c *script.Call) func(goja.Value) bool {
	class := c.Object(0)
	if _, ok := goja.AssertFunction(c.Arg(0)); !ok {
		e.js.ThrowInvalid("expect.any takes a class, such as Number or ObjectId")
	}
	global := e.js.Runtime.GlobalObject()
	for name, kind := range map[string]string{"Number": "number", "String": "string", "Boolean": "boolean",
		"BigInt": "bigint", "Function": "function", "Symbol": "symbol"} {
		if global.Get(name) != nil && global.Get(name).SameAs(class) {
			return func(v goja.Value) bool { return script.TypeOf(v) == kind || e.js.Runtime.InstanceOf(v, class) }
		}
	}
	if global.Get("Object").SameAs(class) {
		return func(v goja.Value) bool { return script.TypeOf(v) == "object" && !goja.IsNull(v) }
	}
	return func(v goja.Value) bool { return e.js.Runtime.InstanceOf(v, class) }
}

func (e *expectFunc) objectContaining(c *script.Call) func(goja.Value) bool {
	fields := c.Object(0)
	if fields == nil {
		e.js.ThrowInvalid("expect.objectContaining takes an object")
	}
	return func(v goja.Value) bool {
		o, ok := v.(*goja.Object)
		if !ok {
			return false
		}
		q := equality{js: e.js}
		for _, name := range fields.Keys() {
			if o.Get(name) == nil || !q.same(o.Get(name), fields.Get(name)) {
				return false
			}
		}
		return true
	}
}

func (e *expectFunc) arrayContaining(c *script.Call) func(goja.Value) bool {
	if o := c.Object(0); o == nil || o.ClassName() != "Array" {
		e.js.ThrowInvalid("expect.arrayContaining takes an array")
	}
	wanted := script.Items(c.Object(0))
	return func(v goja.Value) bool {
		o, ok := v.(*goja.Object)
		if !ok || o.ClassName() != "Array" {
			return false
		}
		q := equality{js: e.js}
		have := script.Items(o)
	next:
		for _, w := range wanted {
			for _, h := range have {
				if q.same(h, w) {
					continue next
				}
			}
			return false
		}
		return true
	}
}

func (e *expectFunc) stringMatching(c *script.Call) func(goja.Value) bool {
	expected := c.Arg(0)
	return func(v goja.Value) bool {
		if !goja.IsString(v) {
			return false
		}
		m := &Match{Call: &script.Call{JS: e.js}}
		return m.matchesText(v.String(), expected)
	}
}
