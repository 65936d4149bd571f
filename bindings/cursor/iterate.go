package cursor

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// Prototype returns the prototype of cursors.
func (h *Host) Prototype() *goja.Object {
	if p := h.JS.Classes.Prototype("Cursor"); p != nil {
		return p
	}
	p := script.PrototypeFromTables(h.JS, "Cursor", methods, oldShellMethods)
	iterate := h.JS.NewFunction("[Symbol.iterator]", func(c *script.Call) goja.Value {
		cur, ok := script.Receiver[*Cursor](c.This)
		if !ok {
			c.JS.ThrowType("not a cursor")
		}
		return h.newIterator(cur)
	})
	h.defineAsyncIterator(p)
	refuse := h.JS.NewFunction("toBSON",
		func(c *script.Call) goja.Value { c.JS.ThrowInvalid(NotSerializableText); return nil })
	script.Define(p, "toBSON", refuse)
	script.Must(p.DefineDataPropertySymbol(goja.SymIterator, iterate, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return p
}

// NotSerializableText is the message for cursors in place of values.
const NotSerializableText = "Cannot serialize a cursor to JSON. Did you mean to call .toArray() first?"

// defineAsyncIterator makes "for await" work if the runtime has the symbol for it. Each document is
// returned in a promise.
func (h *Host) defineAsyncIterator(p *goja.Object) {
	class, _ := h.JS.Runtime.GlobalObject().Get("Symbol").(*goja.Object)
	symbol, ok := script.Property(class, "asyncIterator").(*goja.Symbol)
	if !ok {
		return
	}
	iterate := h.JS.NewFunction("[Symbol.asyncIterator]", func(c *script.Call) goja.Value {
		cur, ok := script.Receiver[*Cursor](c.This)
		if !ok {
			c.JS.ThrowType("not a cursor")
		}
		from := h.newIterator(cur)
		it := c.JS.Runtime.NewObject()
		for _, name := range []string{"next", "return"} {
			step, _ := goja.AssertFunction(from.Get(name))
			script.Define(it, name, c.JS.NewFunction(name, func(c *script.Call) goja.Value {
				promise, resolve, reject := c.JS.Runtime.NewPromise()
				v, err := step(from, c.Args...)
				if thrown := script.ThrownBy(err); thrown != nil {
					_ = reject(thrown)
				} else if err != nil {
					c.JS.Rethrow(err)
				} else {
					_ = resolve(v)
				}
				return c.JS.Runtime.ToValue(promise)
			}))
		}
		script.Must(it.SetSymbol(symbol, c.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value { return fc.This })))
		return it
	})
	script.Must(p.DefineDataPropertySymbol(symbol, iterate, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// newIterator returns the iterator of a cursor for for…of, spread and destructuring.
func (h *Host) newIterator(cur *Cursor) *goja.Object {
	it := h.JS.Runtime.NewObject()
	script.Define(it, "next", h.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
		v := cur.Next()
		if v == nil {
			return h.JS.NewObject("value", goja.Undefined(), "done", true)
		}
		return h.JS.NewObject("value", v, "done", false)
	}))
	script.Define(it, "return", h.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		cur.Close()
		return h.JS.NewObject("value", fc.Argument(0), "done", true)
	}))
	script.Must(it.SetSymbol(goja.SymIterator, h.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		return fc.This
	})))
	return it
}
