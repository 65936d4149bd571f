package assert

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// assertRejects implements assert.rejects and assert.doesNotReject. It returns a promise for the
// outcome of the given promise, or of the promise that a given function returns.
func assertRejects(want bool) func(*call) goja.Value {
	return func(c *call) goja.Value {
		given := c.promiseArgument()
		then, ok := goja.AssertFunction(given.Get("then"))
		if !ok {
			c.JS.ThrowType("%s is not a promise", c.host.Inspect(given))
		}
		promise, resolve, reject := c.JS.Runtime.NewPromise()
		settle := func(check func(goja.Value)) goja.Value {
			return c.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
				var err error
				if failed := c.JS.Runtime.Try(func() { check(fc.Argument(0)) }); failed != nil {
					err = reject(failed.Value())
				} else {
					err = resolve(goja.Undefined())
				}
				c.JS.Check(err)
				return goja.Undefined()
			})
		}
		fulfilled, rejected := func(goja.Value) {}, func(reason goja.Value) { c.throwUnwanted("rejection", reason) }
		if want {
			fulfilled = func(goja.Value) { c.throwAssertion("Missing expected rejection" + c.missingExceptionText()) }
			rejected = func(reason goja.Value) { c.checkThrown(reason, reason.String()) }
		}
		if _, err := then(given, settle(fulfilled), settle(rejected)); err != nil {
			c.JS.Rethrow(err)
		}
		return c.JS.Runtime.ToValue(promise)
	}
}

// promiseArgument returns the promise in the first argument, or the promise that the function in it
// returns.
func (c *call) promiseArgument() *goja.Object {
	v := c.Arg(0)
	if f, ok := goja.AssertFunction(v); ok {
		returned, err := f(goja.Undefined())
		c.JS.Check(err)
		if o, ok := returned.(*goja.Object); ok {
			return o
		}
		c.JS.ThrowType("Expected instance of Promise to be returned from the \"promiseFn\" function but got type %s (%s).",
			script.TypeOf(returned), c.host.Inspect(returned))
	}
	o := c.Object(0)
	if o == nil {
		c.JS.ThrowType("The \"promiseFn\" argument must be of type function or an instance of Promise. Received type %s (%s)",
			script.TypeOf(v), c.host.Inspect(v))
	}
	return o
}

// throwUnwanted throws because of an unexpected exception.
func (c *call) throwUnwanted(kind string, thrown goja.Value) {
	given := "."
	if c.Has(1) && goja.IsString(c.Arg(1)) {
		given = ": " + c.Text(1)
	} else if c.Has(2) {
		given = ": " + c.messageText(2)
	}
	text := script.OptionalText(thrown)
	if e, ok := thrown.(*goja.Object); ok {
		text = script.OptionalText(e.Get("message"))
	}
	c.throwAssertion("Got unwanted " + kind + given + "\nActual message: \"" + text + "\"")
}
