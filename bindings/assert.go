package bindings

import (
	"fmt"
	"time"

	"github.com/dop251/goja"
)

// newAssert makes assert: Node's members and the old shell's together
// (spec 04 §4.4, §4.11).
func (s *Shell) newAssert() goja.Value {
	o := s.function("assert", func(c *call) goja.Value { return c.assertTrue() })
	for _, table := range []map[string]func(*call) goja.Value{nodeAsserts(), oldAsserts()} {
		for name, f := range table {
			define(o, name, s.function(name, f))
		}
	}
	for _, name := range []string{"rejects", "doesNotReject"} {
		define(o, name, s.webGlobal(name))
	}
	define(o, "strict", o)
	return o
}

// failAssert throws an AssertionError with the script's message, if it gave one.
func (c *call) failAssert(message int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if e := c.object(message); e != nil && isError(e) {
		panic(e)
	}
	if c.has(message) {
		text = c.messageText(message)
	}
	c.throwAssertion(text)
}

// failOld is failAssert in the old shell's way: the message goes behind.
func (c *call) failOld(message int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if c.has(message) {
		text += " : " + c.messageText(message)
	}
	c.throwAssertion(text)
}

func (c *call) messageText(i int) string {
	if f, ok := goja.AssertFunction(c.arg(i)); ok {
		v, err := f(goja.Undefined())
		if err != nil {
			c.rethrow(err)
		}
		return v.String()
	}
	if c.object(i) != nil {
		return c.toJSON(c.arg(i), true)
	}
	return c.text(i)
}

func (c *call) throwAssertion(text string) {
	e := c.world.NewError("AssertionError", text)
	must(e.Set("generatedMessage", false))
	must(e.Set("code", "ERR_ASSERTION"))
	panic(e)
}

func (c *call) assertTrue() goja.Value {
	if !c.arg(0).ToBoolean() {
		c.failAssert(1, "The expression evaluated to a falsy value")
	}
	return nil
}

func (c *call) shown(i int) string { return c.inspect(c.arg(i)) }

// callAssert compares the first two arguments.
func compareAssert(words string, ok func(c *call, a, b goja.Value) bool) func(*call) goja.Value {
	return func(c *call) goja.Value {
		if !ok(c, c.arg(0), c.arg(1)) {
			c.failAssert(2, "Expected values to be %s:\n%s\nand\n%s", words, c.shown(0), c.shown(1))
		}
		return nil
	}
}

func nodeAsserts() map[string]func(*call) goja.Value {
	not := func(f func(*call, goja.Value, goja.Value) bool) func(*call, goja.Value, goja.Value) bool {
		return func(c *call, a, b goja.Value) bool { return !f(c, a, b) }
	}
	loose := func(_ *call, a, b goja.Value) bool { return a.Equals(b) || goja.IsNaN(a) && goja.IsNaN(b) }
	strict := func(_ *call, a, b goja.Value) bool { return a.SameAs(b) }
	deep := func(c *call, a, b goja.Value) bool { return c.deepEqual(a, b, false) }
	deepStrict := func(c *call, a, b goja.Value) bool { return c.deepEqual(a, b, true) }
	return map[string]func(*call) goja.Value{
		"ok":                 func(c *call) goja.Value { return c.assertTrue() },
		"equal":              compareAssert("equal", loose),
		"notEqual":           compareAssert("unequal", not(loose)),
		"strictEqual":        compareAssert("strictly equal", strict),
		"notStrictEqual":     compareAssert("strictly unequal", not(strict)),
		"deepEqual":          compareAssert("loosely deep-equal", deep),
		"notDeepEqual":       compareAssert("not deep-equal", not(deep)),
		"deepStrictEqual":    compareAssert("strictly deep-equal", deepStrict),
		"notDeepStrictEqual": compareAssert("not strictly deep-equal", not(deepStrict)),
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
				c.failAssert(2, "Got unwanted exception: %s", c.errorText(err))
			}
			return v
		},
		"ifError": func(c *call) goja.Value {
			if c.has(0) && !goja.IsNull(c.arg(0)) {
				c.throwAssertion("ifError got unwanted exception: " + c.shown(0))
			}
			return nil
		},
	}
}

func matchAssert(want bool) func(*call) goja.Value {
	return func(c *call) goja.Value {
		if c.matches(c.arg(0).String(), c.object(1)) != want {
			c.failAssert(2, "The input %s the regular expression %s", map[bool]string{true: "did not match", false: "was expected to not match"}[want], c.arg(1))
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
	v, err := test(re, c.rt.ToValue(text))
	if err != nil {
		c.rethrow(err)
	}
	return v.ToBoolean()
}

// callArgument calls the function in the first argument; parameters may follow in
// an array.
func (c *call) callArgument() (goja.Value, error) {
	f, ok := goja.AssertFunction(c.arg(0))
	if !ok {
		c.throwType("the first argument must be a function")
	}
	var args []goja.Value
	if list := c.object(1); list != nil && list.ClassName() == "Array" {
		args = c.items(list)
	}
	v, err := f(goja.Undefined(), args...)
	if err != nil && thrownBy(err) == nil {
		c.rethrow(err)
	}
	return v, err
}

// thrownBy is what a script threw; nil for errors of other kinds.
func thrownBy(err error) goja.Value {
	var ex *goja.Exception
	if asError(err, &ex) {
		return ex.Value()
	}
	return nil
}

func (c *call) errorText(err error) string {
	if v := thrownBy(err); v != nil {
		return c.scriptError(v).Error()
	}
	return err.Error()
}

// assertThrows takes what Node and the old shell take and returns the error, as
// the old shell did.
func assertThrows(c *call) goja.Value {
	_, err := c.callArgument()
	if err == nil {
		c.failAssert(2, "Missing expected exception.")
	}
	thrown := thrownBy(err)
	expected := c.object(1)
	switch {
	case expected == nil || expected.ClassName() == "Array":
	case expected.ClassName() == "RegExp":
		if !c.matches(c.errorText(err), expected) {
			c.failAssert(2, "The error %s does not match %s", c.errorText(err), expected)
		}
	default:
		if f, ok := goja.AssertFunction(expected); ok {
			c.validateThrown(thrown, expected, f)
			break
		}
		got, _ := thrown.(*goja.Object)
		for _, k := range expected.Keys() {
			want := expected.Get(k)
			have := property(got, k)
			if re, ok := want.(*goja.Object); ok && re.ClassName() == "RegExp" && have != nil && c.matches(have.String(), re) {
				continue
			}
			if have == nil || !c.deepEqual(have, want, true) {
				c.failAssert(2, "The error has another %s than expected: %s", k, c.errorText(err))
			}
		}
	}
	return thrown
}

// validateThrown takes a class or a function that checks.
func (c *call) validateThrown(thrown goja.Value, expected *goja.Object, f goja.Callable) {
	if proto, ok := expected.Get("prototype").(*goja.Object); ok && proto != nil {
		if c.rt.InstanceOf(thrown, expected) {
			return
		}
		if isError(proto) || proto.Get("message") != nil {
			c.failAssert(2, "The error is expected to be an instance of %q", expected.Get("name"))
		}
	}
	v, err := f(goja.Undefined(), thrown)
	if err != nil {
		c.rethrow(err)
	}
	if !v.ToBoolean() {
		c.failAssert(2, "The validation function is expected to return true")
	}
}

// waitAssert polls a condition, given as a function or as code.
func (c *call) waitAssert(swallow bool) goja.Value {
	condition := c.arg(0)
	if goja.IsString(condition) {
		v, err := c.rt.RunScript("<assert.soon>", "(function () { return ("+condition.String()+"); })")
		if err != nil {
			c.rethrow(err)
		}
		condition = v
	}
	f, ok := goja.AssertFunction(condition)
	if !ok {
		c.throwType("assert.soon takes a function")
	}
	timeout := c.milliseconds(2, 30*time.Second)
	done := c.poll(timeout, c.milliseconds(3, 200*time.Millisecond), func() bool {
		v, err := f(goja.Undefined())
		if err != nil {
			if swallow && thrownBy(err) != nil {
				return false
			}
			c.rethrow(err)
		}
		return v.ToBoolean()
	})
	if !done {
		c.failOld(1, "assert.soon failed (timeout %dms)", timeout.Milliseconds())
	}
	return nil
}
