// Package assert implements the object assert of scripts, with the assertions of Node and those of the
// old shell.
package assert

import (
	"fmt"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/display"
	"shardsh/bindings/script"
)

// Host provides what the assertions need from the shell.
type Host struct {
	JS *script.Engine
	// Inspect formats a value as the shell shows it. OldJSON formats a value as the old shell's JSON in
	// one line.
	Inspect, OldJSON func(v goja.Value) string
}

// call is a call of an assertion.
type call struct {
	*script.Call
	host *Host
}

// New returns the object assert, with the members of Node and those of the old shell
// (rules/04-values-and-language §4.4, §4.11).
func New(h *Host) goja.Value {
	o := h.newFunction("assert", func(c *call) goja.Value { return c.assertTrue() })
	for _, table := range []map[string]func(*call) goja.Value{nodeAsserts(), oldAsserts(), rareOldAsserts()} {
		for name, f := range table {
			script.Define(o, name, h.newFunction(name, f))
		}
	}
	script.Define(o, "strict", o)
	h.defineAutomsg(o)
	return o
}

func (h *Host) newFunction(name string, f func(c *call) goja.Value) *goja.Object {
	return h.JS.NewFunction(name, func(c *script.Call) goja.Value { return f(&call{c, h}) })
}

// failAssert throws an AssertionError with the script's message, if it gave one.
func (c *call) failAssert(message int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if e := c.Object(message); e != nil && script.IsError(e) {
		panic(e)
	}
	if c.Has(message) {
		text = c.messageText(message)
	}
	c.throwAssertion(text)
}

// failOldStyle works like failAssert, but in the style of the old shell, which appends the script's
// message.
func (c *call) failOldStyle(message int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if c.Has(message) {
		text += " : " + c.messageText(message)
	}
	c.throwAssertion(text)
}

func (c *call) messageText(i int) string {
	if f, ok := goja.AssertFunction(c.Arg(i)); ok {
		v, err := f(goja.Undefined())
		c.JS.Check(err)
		return v.String()
	}
	if c.Object(i) != nil {
		return c.host.OldJSON(c.Arg(i))
	}
	return c.Text(i)
}

// comparisonText returns the message of a failed comparison, with the script's message if there is one.
func (c *call) comparisonText(operator, format string) string {
	var text string
	switch {
	case c.Has(2):
		text = c.messageText(2)
	case operator == "deepStrictEqual":
		text = format
	default:
		return fmt.Sprintf(format, c.inspectArg(0), c.inspectArg(1))
	}
	if operator == "deepStrictEqual" {
		text += "\n+ actual - expected\n\n" +
			display.LineDiff(c.JS.Values.PrintjsonText(c.Arg(0)), c.JS.Values.PrintjsonText(c.Arg(1)))
	}
	return text
}

func (c *call) throwAssertion(text string) { panic(c.newAssertionError(text)) }

func (c *call) newAssertionError(text string) *goja.Object {
	e := c.JS.Values.Errors.New("AssertionError", text)
	script.Must(e.Set("generatedMessage", false))
	script.Must(e.Set("code", "ERR_ASSERTION"))
	return e
}

func (c *call) assertTrue() goja.Value {
	if !c.Arg(0).ToBoolean() {
		c.failAssert(1, "%s == true", c.inspectArg(0))
	}
	return nil
}

func (c *call) inspectArg(i int) string { return c.host.Inspect(c.Arg(i)) }

// compareAssert returns an assertion that compares the first two arguments. format has a verb for each
// of them.
func compareAssert(operator, format string, ok func(c *call, a, b goja.Value) bool) func(*call) goja.Value {
	return func(c *call) goja.Value {
		if ok(c, c.Arg(0), c.Arg(1)) {
			return nil
		}
		if given := c.Object(2); given != nil && script.IsError(given) {
			panic(given)
		}
		e := c.newAssertionError(c.comparisonText(operator, format))
		for name, v := range map[string]any{"generatedMessage": !c.Has(2), "actual": c.Arg(0), "expected": c.Arg(1),
			"operator": operator} {
			script.Must(e.Set(name, v))
		}
		panic(e)
	}
}

func nodeAsserts() map[string]func(*call) goja.Value {
	not := func(f func(*call, goja.Value, goja.Value) bool) func(*call, goja.Value, goja.Value) bool {
		return func(c *call, a, b goja.Value) bool { return !f(c, a, b) }
	}
	loose := func(_ *call, a, b goja.Value) bool { return a.Equals(b) || goja.IsNaN(a) && goja.IsNaN(b) }
	strict := func(_ *call, a, b goja.Value) bool { return a.SameAs(b) }
	deep := func(c *call, a, b goja.Value) bool { return script.DeepEqual(c.JS.Values, a, b, false) }
	deepStrict := func(c *call, a, b goja.Value) bool { return script.DeepEqual(c.JS.Values, a, b, true) }
	return map[string]func(*call) goja.Value{
		"ok":          func(c *call) goja.Value { return c.assertTrue() },
		"equal":       compareAssert("==", "%s == %s", loose),
		"notEqual":    compareAssert("!=", "%s != %s", not(loose)),
		"strictEqual": compareAssert("strictEqual", "Expected values to be strictly equal:\n\n%s !== %s\n", strict),
		"notStrictEqual": compareAssert("notStrictEqual", "Expected \"actual\" to be strictly unequal to: %[2]s",
			not(strict)),
		"deepEqual": compareAssert("deepEqual",
			"Expected values to be loosely deep-equal:\n\n%s\n\nshould loosely deep-equal\n\n%s", deep),
		"notDeepEqual": compareAssert("notDeepEqual", "Expected \"actual\" not to be loosely deep-equal to: %[2]s",
			not(deep)),
		"deepStrictEqual": compareAssert("deepStrictEqual", "Expected values to be strictly deep-equal:", deepStrict),
		"notDeepStrictEqual": compareAssert("notDeepStrictEqual",
			"Expected \"actual\" not to be strictly deep-equal to: %[2]s", not(deepStrict)),
		"rejects":       assertRejects(true),
		"doesNotReject": assertRejects(false),
		"fail": func(c *call) goja.Value {
			c.failAssert(0, "Failed")
			return nil
		},
		"match":        matchAssert(true),
		"doesNotMatch": matchAssert(false),
		"throws":       assertThrows,
		"doesNotThrow": func(c *call) goja.Value {
			v, err := c.callArgument()
			if err != nil {
				c.throwUnwanted("exception", script.ThrownBy(err))
			}
			return v
		},
		"ifError": func(c *call) goja.Value {
			if c.Has(0) && !goja.IsNull(c.Arg(0)) {
				text := c.inspectArg(0)
				if e := c.Object(0); e != nil && script.IsError(e) {
					text = script.OptionalText(e.Get("message"))
				}
				c.throwAssertion("ifError got unwanted exception: " + text)
			}
			return nil
		},
	}
}

func matchAssert(want bool) func(*call) goja.Value {
	return func(c *call) goja.Value {
		if c.matches(c.Arg(0).String(), c.Object(1)) != want {
			c.failAssert(2, "The input %s the regular expression %s. Input:\n\n%s\n",
				map[bool]string{true: "did not match", false: "was expected to not match"}[want], c.Arg(1), c.inspectArg(0))
		}
		return nil
	}
}

func (c *call) matches(text string, re *goja.Object) bool {
	if re == nil {
		return false
	}
	test, ok := goja.AssertFunction(re.Get("test"))
	if !ok {
		return false
	}
	v, err := test(re, c.JS.Runtime.ToValue(text))
	c.JS.Check(err)
	return v.ToBoolean()
}

// callArgument calls the function in the first argument, with the parameters in the optional array
// after it.
func (c *call) callArgument() (goja.Value, error) {
	f, ok := goja.AssertFunction(c.Arg(0))
	if !ok {
		c.JS.ThrowType("the first argument must be a function")
	}
	var args []goja.Value
	if list := c.Object(1); list != nil && list.ClassName() == "Array" {
		args = script.Items(list)
	}
	v, err := f(goja.Undefined(), args...)
	if err != nil && script.ThrownBy(err) == nil {
		c.JS.Rethrow(err)
	}
	return v, err
}

func (c *call) errorText(err error) string {
	if v := script.ThrownBy(err); v != nil {
		return c.JS.Errors.DescribeThrown(v).Error()
	}
	return err.Error()
}

// assertThrows takes the arguments of Node and of the old shell, and returns the error, as the old
// shell did.
func assertThrows(c *call) goja.Value {
	_, err := c.callArgument()
	if err == nil {
		c.throwAssertion("Missing expected exception" + c.missingExceptionText())
	}
	thrown := script.ThrownBy(err)
	c.checkThrown(thrown, c.errorText(err))
	return thrown
}

// missingExceptionText returns the end of the message about a missing exception: the expected class,
// and the script's own message.
func (c *call) missingExceptionText() string {
	text, message := "", 2
	expected := c.Object(1)
	switch {
	case goja.IsString(c.Arg(1)):
		message = 1
	case expected != nil && expected.ClassName() == "Function":
		if _, isClass := script.Property(expected, "prototype").(*goja.Object); isClass {
			text = " (" + script.OptionalText(expected.Get("name")) + ")"
		}
	}
	if c.Has(message) {
		return text + ": " + c.messageText(message)
	}
	return text + "."
}

// checkThrown compares the thrown value with the second argument.
func (c *call) checkThrown(thrown goja.Value, text string) {
	expected := c.Object(1)
	switch {
	case expected == nil || expected.ClassName() == "Array":
	case expected.ClassName() == "RegExp":
		if !c.matches(text, expected) {
			c.failAssert(2, "The input did not match the regular expression %s. Input:\n\n%s\n", expected,
				c.host.Inspect(c.JS.Runtime.ToValue(text)))
		}
	default:
		if f, ok := goja.AssertFunction(expected); ok {
			c.validateThrown(thrown, expected, f)
			break
		}
		got, _ := thrown.(*goja.Object)
		for _, k := range expected.Keys() {
			want := expected.Get(k)
			have := script.Property(got, k)
			if re, ok := want.(*goja.Object); ok && re.ClassName() == "RegExp" && have != nil && c.matches(have.String(), re) {
				continue
			}
			if have == nil || !script.DeepEqual(c.JS.Values, have, want, true) {
				c.failAssert(2, "The error has another %s than expected: %s", k, text)
			}
		}
	}
}

// validateThrown checks the thrown value with a class or a function.
func (c *call) validateThrown(thrown goja.Value, expected *goja.Object, f goja.Callable) {
	if proto, ok := expected.Get("prototype").(*goja.Object); ok && proto != nil {
		if c.JS.Runtime.InstanceOf(thrown, expected) {
			return
		}
		if script.IsError(proto) || proto.Get("message") != nil {
			c.failAssert(2, "The error is expected to be an instance of %q", expected.Get("name"))
		}
	}
	v, err := f(goja.Undefined(), thrown)
	c.JS.Check(err)
	if !v.ToBoolean() {
		c.failAssert(2, "The validation function is expected to return true")
	}
}

// waitAssert polls a condition, which is a function or code.
func (c *call) waitAssert(swallow bool) goja.Value {
	condition := c.Arg(0)
	if goja.IsString(condition) {
		v, err := c.JS.Runtime.RunScript("<assert.soon>", "(function () { return ("+condition.String()+"); })")
		c.JS.Check(err)
		condition = v
	}
	f, ok := goja.AssertFunction(condition)
	if !ok {
		c.JS.ThrowType("assert.soon takes a function")
	}
	timeout := c.Duration("assert.soon", "timeout", 2, 30*time.Second)
	done := c.JS.Poll(timeout, c.Duration("assert.soon", "interval", 3, 200*time.Millisecond), func() bool {
		v, err := f(goja.Undefined())
		if err != nil {
			if swallow && script.ThrownBy(err) != nil {
				return false
			}
			c.JS.Rethrow(err)
		}
		return v.ToBoolean()
	})
	if !done {
		c.failOldStyle(1, "assert.soon failed (timeout %dms)", timeout.Milliseconds())
	}
	return nil
}
