package assert

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"

	"shardsh/balancer/keyorder"
	"shardsh/bindings/script"
)

// oldAsserts returns the assertions of the old shell.
func oldAsserts() map[string]func(*call) goja.Value {
	ordered := func(sign string, ok func(int) bool) func(*call) goja.Value {
		return func(c *call) goja.Value {
			if !ok(c.compare(c.Arg(0), c.Arg(1))) {
				c.failOldStyle(2, "%s is not %s %s", c.inspectArg(0), sign, c.inspectArg(1))
			}
			return nil
		}
	}
	equal := func(want bool, sign string) func(*call) goja.Value {
		return func(c *call) goja.Value {
			if (c.Arg(0).Equals(c.Arg(1)) || script.SameDocument(c.JS.Values, c.Arg(0), c.Arg(1))) != want {
				c.failOldStyle(2, "[%s] %s [%s]", c.inspectArg(0), sign, c.inspectArg(1))
			}
			return nil
		}
	}
	return map[string]func(*call) goja.Value{
		"eq":  equal(true, "!= (should be equal)"),
		"neq": equal(false, "== (should be different)"),
		"lt":  ordered("less than", func(d int) bool { return d < 0 }),
		"lte": ordered("less than or equal to", func(d int) bool { return d <= 0 }),
		"gt":  ordered("greater than", func(d int) bool { return d > 0 }),
		"gte": ordered("greater than or equal to", func(d int) bool { return d >= 0 }),
		"between": func(c *call) goja.Value {
			if c.compare(c.Arg(0), c.Arg(1)) > 0 || c.compare(c.Arg(1), c.Arg(2)) > 0 {
				c.failOldStyle(3, "%s is not between %s and %s", c.inspectArg(1), c.inspectArg(0), c.inspectArg(2))
			}
			return nil
		},
		"close": func(c *call) goja.Value {
			a, b := c.Arg(0).ToFloat(), c.Arg(1).ToFloat()
			places := 4.0
			if c.Has(3) {
				places = c.Arg(3).ToFloat()
			}
			if !closeTo(a, b, places) {
				c.failOldStyle(2, "%v is not close to %v within %v places", a, b, places)
			}
			return nil
		},
		"contains": func(c *call) goja.Value {
			list := c.Object(1)
			if list == nil || !slices.ContainsFunc(script.Items(list), func(v goja.Value) bool {
				return v.Equals(c.Arg(0)) || script.SameDocument(c.JS.Values, v, c.Arg(0))
			}) {
				c.failOldStyle(2, "%s was not in %s", c.inspectArg(0), c.inspectArg(1))
			}
			return nil
		},
		"isnull": func(c *call) goja.Value {
			if c.Has(0) && !goja.IsNull(c.Arg(0)) {
				c.failOldStyle(1, "supposed to be null, was %s", c.inspectArg(0))
			}
			return nil
		},
		"docEq": func(c *call) goja.Value {
			a, b := c.Arg(0), c.Arg(1)
			if !script.DeepEqual(c.JS.Values, a, b, false) && !script.SameDocument(c.JS.Values, a, b) {
				c.failOldStyle(2, "expected document %s and actual document %s are not equal", c.inspectArg(0), c.inspectArg(1))
			}
			return nil
		},
		"setEq": func(c *call) goja.Value {
			if !script.DeepEqual(c.JS.Values, c.Arg(0), c.Arg(1), false) {
				c.failOldStyle(2, "expected set %s and actual set %s are not equal", c.inspectArg(0), c.inspectArg(1))
			}
			return nil
		},
		"sameMembers": func(c *call) goja.Value {
			if !c.sameMembers(c.Object(0), c.Object(1)) {
				c.failOldStyle(2, "%s and %s do not have the same members", c.inspectArg(0), c.inspectArg(1))
			}
			return nil
		},
		"includes": func(c *call) goja.Value {
			if !strings.Contains(c.Text(0), c.Text(1)) {
				c.failOldStyle(2, "string [%s] does not include [%s]", c.Text(0), c.Text(1))
			}
			return nil
		},
		"hasFields": func(c *call) goja.Value {
			o, fields := c.Object(0), c.Object(1)
			if o == nil || fields == nil {
				c.failOldStyle(2, "assert.hasFields takes an object and an array of names")
			}
			for _, f := range script.Items(fields) {
				if script.Property(o, f.String()) == nil {
					c.failOldStyle(2, "%s has no field %q", c.inspectArg(0), f)
				}
			}
			return nil
		},
		"retry":         func(c *call) goja.Value { return c.assertRetry(false) },
		"retryNoExcept": func(c *call) goja.Value { return c.assertRetry(true) },
		"soon":          func(c *call) goja.Value { return c.waitAssert(false) },
		"soonNoExcept":  func(c *call) goja.Value { return c.waitAssert(true) },
		"time": func(c *call) goja.Value {
			started := c.JS.Clock.Now()
			f, ok := goja.AssertFunction(c.Arg(0))
			if !ok {
				c.JS.ThrowType("assert.time takes a function")
			}
			v, err := f(goja.Undefined())
			c.JS.Check(err)
			limit := c.Duration("assert.time", "timeout", 2, 30*time.Second)
			if took := c.JS.Clock.Now().Sub(started); took > limit {
				c.failOldStyle(1, "assert.time failed: took %dms, limit %dms", took.Milliseconds(), limit.Milliseconds())
			}
			return v
		},
		"throwsWithCode": func(c *call) goja.Value {
			_, err := c.callArgument()
			if err == nil {
				c.failOldStyle(2, "did not throw exception")
			}
			return c.wantCode(err, c.Arg(1))
		},
		"commandWorked":                    assertWorked,
		"commandWorkedIgnoringWriteErrors": assertWorked,
		"writeOK":                          assertWorked,
		"commandFailed":                    func(c *call) goja.Value { return c.assertFailed(false) },
		"commandFailedWithCode":            func(c *call) goja.Value { return c.assertFailed(true) },
		"writeError":                       func(c *call) goja.Value { return c.assertFailed(false) },
		"writeErrorWithCode":               func(c *call) goja.Value { return c.assertFailed(true) },
	}
}

// sameMembers compares two arrays as multisets.
func (c *call) sameMembers(a, b *goja.Object) bool {
	if a == nil || b == nil {
		return false
	}
	left := script.Items(b)
	for _, v := range script.Items(a) {
		i := slices.IndexFunc(left, func(w goja.Value) bool { return v.Equals(w) || script.SameDocument(c.JS.Values, v, w) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// assertRetry implements assert.retry(f, message, attempts, milliseconds between).
func (c *call) assertRetry(swallow bool) goja.Value {
	f, ok := goja.AssertFunction(c.Arg(0))
	if !ok {
		c.JS.ThrowType("assert.retry takes a function")
	}
	attempts := int64(10)
	if c.Has(2) {
		attempts = c.Arg(2).ToInteger()
	}
	for i := range attempts {
		if i > 0 {
			c.JS.Sleep(c.Duration("assert.retry", "interval", 3, 0))
		}
		v, err := f(goja.Undefined())
		if err != nil && (!swallow || script.ThrownBy(err) == nil) {
			c.JS.Rethrow(err)
		}
		if err == nil && v.ToBoolean() {
			return nil
		}
	}
	c.failOldStyle(1, "assert.retry failed after %d attempts", attempts)
	return nil
}

// compare orders two values as the server would.
func (c *call) compare(a, b goja.Value) int {
	return keyorder.Compare(c.JS.BSONValue(a), c.JS.BSONValue(b))
}

func closeTo(a, b, places float64) bool {
	d := (a - b) * math.Pow10(max(0, int(places)))
	return d < 0.5 && d > -0.5
}

// assertWorked checks a reply or a result. Failed commands throw in this shell, so the argument can
// only be an old reply with ok: 0.
func assertWorked(c *call) goja.Value {
	o := c.Object(0)
	if o == nil {
		c.failOldStyle(1, "expected a command's reply, got %s", c.inspectArg(0))
	}
	if script.IsError(o) {
		panic(o)
	}
	if ok := script.Property(o, "ok"); ok != nil && ok.ToFloat() != 1 {
		c.failOldStyle(1, "command failed: %s", c.host.OldJSON(o))
	}
	if errors, ok := script.Property(o, "writeErrors").(*goja.Object); ok && len(errors.Keys()) > 0 {
		c.failOldStyle(1, "write failed: %s", c.host.OldJSON(o))
	}
	return o
}

// assertFailed checks a reply, an error, or a function that is expected to fail. Failed commands throw,
// so a reply with ok: 0 is rare.
func (c *call) assertFailed(withCode bool) goja.Value {
	message := 1
	if withCode {
		message = 2
	}
	o := c.Object(0)
	if f, ok := goja.AssertFunction(c.Arg(0)); ok {
		v, err := f(goja.Undefined())
		if err == nil {
			c.failOldStyle(message, "command worked when it should have failed: %s", c.host.Inspect(v))
		}
		if withCode {
			return c.wantCode(err, c.Arg(1))
		}
		v = script.ThrownBy(err)
		if v == nil {
			c.JS.Rethrow(err)
		}
		return v
	}
	if o == nil || !script.IsError(o) && (script.Property(o, "ok") == nil || script.Property(o, "ok").ToFloat() == 1) {
		c.failOldStyle(message, "command worked when it should have failed: %s", c.inspectArg(0))
	}
	if withCode && !c.hasCode(o, c.Arg(1)) {
		c.failOldStyle(message, "command failed with another code: %s", c.inspectArg(0))
	}
	return o
}

func (c *call) wantCode(err error, codes goja.Value) goja.Value {
	v := script.ThrownBy(err)
	if v == nil {
		c.JS.Rethrow(err)
	}
	o, _ := v.(*goja.Object)
	if o == nil || !c.hasCode(o, codes) {
		c.failOldStyle(2, "failed with another code: %s", c.errorText(err))
	}
	return v
}

func (c *call) hasCode(o *goja.Object, codes goja.Value) bool {
	code := script.Property(o, "code")
	if code == nil {
		return false
	}
	list, ok := codes.(*goja.Object)
	if !ok {
		return code.Equals(codes)
	}
	return slices.ContainsFunc(script.Items(list), code.Equals)
}
