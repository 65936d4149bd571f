package assert

import (
	"math"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// rareOldAsserts returns the rarer assertions of the old shell.
func rareOldAsserts() map[string]func(*call) goja.Value {
	return map[string]func(*call) goja.Value{
		"betweenIn": func(c *call) goja.Value { return c.assertBetween(func(d int) bool { return d <= 0 }) },
		"betweenEx": func(c *call) goja.Value { return c.assertBetween(func(d int) bool { return d < 0 }) },
		"closeWithinMS": func(c *call) goja.Value {
			limit := 1000.0
			if c.Has(3) {
				limit = c.Arg(3).ToFloat()
			}
			if apart := math.Abs(c.Arg(0).ToFloat() - c.Arg(1).ToFloat()); !(apart <= limit) {
				c.failOldStyle(2, "%s is not within %vms of %s", c.inspectArg(0), limit, c.inspectArg(1))
			}
			return nil
		},
		"containsPrefix": func(c *call) goja.Value {
			list := c.Object(1)
			if list == nil || !slices.ContainsFunc(script.Items(list), func(v goja.Value) bool {
				return strings.HasPrefix(v.String(), c.Text(0))
			}) {
				c.failOldStyle(2, "%s was not a prefix in %s", c.inspectArg(0), c.inspectArg(1))
			}
			return nil
		},
		"fuzzySameMembers": func(c *call) goja.Value {
			if !c.fuzzySameMembers() {
				c.failOldStyle(3, "%s and %s do not have the same members in %s", c.inspectArg(0), c.inspectArg(1), c.inspectArg(2))
			}
			return nil
		},
		"fieldsEqual": func(c *call) goja.Value {
			a, b := c.Object(0), c.Object(1)
			for _, f := range script.Items(c.Object(2)) {
				if !c.sameOrBothMissing(script.Property(a, f.String()), script.Property(b, f.String())) {
					c.failOldStyle(3, "field %s of %s and %s differ", f, c.inspectArg(0), c.inspectArg(1))
				}
			}
			return nil
		},
		"commandWorkedOrFailedWithCode": func(c *call) goja.Value {
			o := c.Object(0)
			if o != nil && c.hasCode(o, c.Arg(1)) {
				return o
			}
			c.Args = append(slices.Clone(c.Args[:min(1, len(c.Args))]), c.Arg(2))
			return assertWorked(c)
		},
		"commandWorkedIgnoringWriteConcernErrors":               assertWorked,
		"commandWorkedIgnoringWriteErrorsAndWriteConcernErrors": assertWorked,
		"dropExceptionsWithCode": func(c *call) goja.Value {
			f, _ := goja.AssertFunction(c.Arg(0))
			v, err := f(goja.Undefined())
			if err == nil {
				return v
			}
			thrown := c.wantCode(err, c.Arg(1))
			if dropped, ok := goja.AssertFunction(c.Arg(2)); ok {
				if v, err = dropped(goja.Undefined(), thrown); err != nil {
					c.JS.Rethrow(err)
				}
				return v
			}
			return nil
		},
		"noAPIParams": func(c *call) goja.Value {
			for _, name := range []string{"apiVersion", "apiStrict", "apiDeprecationErrors"} {
				if script.Property(c.Object(0), name) != nil {
					c.failOldStyle(1, "%s has a field %s", c.inspectArg(0), name)
				}
			}
			return nil
		},
		"automsg": func(c *call) goja.Value {
			if !c.evaluateArg(0).ToBoolean() {
				c.throwAssertion("assert failed : " + c.Text(0))
			}
			return nil
		},
	}
}

// defineAutomsg defines assertions whose arguments are strings of code to evaluate, so that the message
// can show the code: assert.eq.automsg("a", "b").
func (h *Host) defineAutomsg(assert *goja.Object) {
	for _, name := range []string{"eq", "neq", "throws", "doesNotThrow"} {
		assertion, _ := assert.Get(name).(*goja.Object)
		run, _ := goja.AssertFunction(assertion)
		script.Define(assertion, "automsg", h.newFunction("automsg", func(c *call) goja.Value {
			program := h.newFunction("automsg", func(*call) goja.Value { return c.evaluateArg(0) })
			args, message := []goja.Value{program, goja.Undefined()}, c.Text(0)
			if name == "eq" || name == "neq" {
				args = []goja.Value{c.evaluateArg(0), c.evaluateArg(1)}
				message = "[" + c.Text(0) + "] compared with [" + c.Text(1) + "]"
			}
			v, err := run(goja.Undefined(), append(args, c.JS.Runtime.ToValue(message))...)
			c.JS.Check(err)
			return v
		}))
	}
}

// evaluateArg evaluates the code in an argument as a separate program.
func (c *call) evaluateArg(i int) goja.Value {
	v, err := c.JS.Runtime.RunString(c.Text(i))
	c.JS.Check(err)
	return v
}

func (c *call) assertBetween(ok func(int) bool) goja.Value {
	if !ok(c.compare(c.Arg(0), c.Arg(1))) || !ok(c.compare(c.Arg(1), c.Arg(2))) {
		c.failOldStyle(3, "%s is not between %s and %s", c.inspectArg(1), c.inspectArg(0), c.inspectArg(2))
	}
	return nil
}

// sameOrBothMissing compares two values, which may be missing.
func (c *call) sameOrBothMissing(a, b goja.Value) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Equals(b) || script.SameDocument(c.JS.Values, a, b)
}

// fuzzySameMembers compares two arrays of documents as multisets. The fields named in the third
// argument count as equal if their values are close.
func (c *call) fuzzySameMembers() bool {
	a, b := c.Object(0), c.Object(1)
	if a == nil || b == nil {
		return false
	}
	var fuzzy []string
	for _, name := range script.Items(c.Object(2)) {
		fuzzy = append(fuzzy, name.String())
	}
	const places = 4
	near := func(v, w goja.Value) bool {
		x, _ := v.(*goja.Object)
		y, _ := w.(*goja.Object)
		if x == nil || y == nil {
			return v.Equals(w)
		}
		if !slices.Equal(slices.Sorted(slices.Values(x.Keys())), slices.Sorted(slices.Values(y.Keys()))) {
			return false
		}
		return !slices.ContainsFunc(x.Keys(), func(key string) bool {
			p, q := x.Get(key), y.Get(key)
			return !c.sameOrBothMissing(p, q) && !(slices.Contains(fuzzy, key) && closeTo(p.ToFloat(), q.ToFloat(), places))
		})
	}
	left := script.Items(b)
	for _, v := range script.Items(a) {
		i := slices.IndexFunc(left, func(w goja.Value) bool { return near(v, w) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}
