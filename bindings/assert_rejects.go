package bindings

import "github.com/dop251/goja"

// assertRejects is assert.rejects, or assert.doesNotReject: a promise that
// tells how the promise given, or that a function given returns, has ended.
func assertRejects(want bool) func(*call) goja.Value {
	return func(c *call) goja.Value {
		given := c.promiseArgument()
		then, ok := goja.AssertFunction(given.Get("then"))
		if !ok {
			c.JS.throwType("%s is no promise", c.s.inspect(given))
		}
		promise, resolve, reject := c.JS.rt.NewPromise()
		settle := func(check func(goja.Value)) goja.Value {
			return c.JS.rt.ToValue(func(fc goja.FunctionCall) goja.Value {
				var err error
				if failed := c.JS.rt.Try(func() { check(fc.Argument(0)) }); failed != nil {
					err = reject(failed.Value())
				} else {
					err = resolve(goja.Undefined())
				}
				if err != nil {
					c.JS.rethrow(err)
				}
				return goja.Undefined()
			})
		}
		fulfilled, rejected := func(goja.Value) {}, func(reason goja.Value) { c.throwUnwanted("rejection", reason) }
		if want {
			fulfilled = func(goja.Value) { c.throwAssertion("Missing expected rejection" + c.missing()) }
			rejected = func(reason goja.Value) { c.checkThrown(reason, reason.String()) }
		}
		if _, err := then(given, settle(fulfilled), settle(rejected)); err != nil {
			c.JS.rethrow(err)
		}
		return c.JS.rt.ToValue(promise)
	}
}

// promiseArgument is the first argument, or what the function it is returns.
func (c *call) promiseArgument() *goja.Object {
	v := c.arg(0)
	if f, ok := goja.AssertFunction(v); ok {
		returned, err := f(goja.Undefined())
		if err != nil {
			c.JS.rethrow(err)
		}
		if o, ok := returned.(*goja.Object); ok {
			return o
		}
		c.JS.throwType("Expected instance of Promise to be returned from the \"promiseFn\" function but got type %s (%s).", typeOf(returned), c.s.inspect(returned))
	}
	o := c.object(0)
	if o == nil {
		c.JS.throwType("The \"promiseFn\" argument must be of type function or an instance of Promise. Received type %s (%s)", typeOf(v), c.s.inspect(v))
	}
	return o
}

// throwUnwanted is for what was thrown where nothing should be.
func (c *call) throwUnwanted(kind string, thrown goja.Value) {
	given := "."
	if c.has(1) && goja.IsString(c.arg(1)) {
		given = ": " + c.text(1)
	} else if c.has(2) {
		given = ": " + c.messageText(2)
	}
	text := optionalText(thrown)
	if e, ok := thrown.(*goja.Object); ok {
		text = optionalText(e.Get("message"))
	}
	c.throwAssertion("Got unwanted " + kind + given + "\nActual message: \"" + text + "\"")
}
