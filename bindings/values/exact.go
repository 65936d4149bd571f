package values

import (
	"github.com/dop251/goja"
)

// A number of the server's that JavaScript's cannot hold to its last digit
// counts in arithmetic and comparison as the nearest one, as in the old shell;
// methods such as compare and add are exact. Its text always is: in templates,
// in String(x), and added to a text.

// inexact is said once for a value that + or == took for a number.
const inexact = "a Long or Decimal128 with more digits than a number holds was rounded in + or ==; its methods " +
	"add and compare, BigInt(x) and `${x}` are exact"

// number is a wrapper that counts as a number in arithmetic and comparison.
type number interface {
	payload
	decimal() string
	// primitive returns what it counts as.
	primitive() goja.Value
	// rounded reports whether JavaScript has no such number.
	rounded() bool
}

// Concatenated returns what a value is when a program adds it to a text: of a
// number of the server's all its digits, else the value itself.
func (w *Realm) Concatenated(v goja.Value) goja.Value {
	if p, ok := payloadOf(v); ok {
		if n, ok := p.(number); ok {
			return w.rt.ToValue(n.decimal())
		}
	}
	return v
}

// defineArithmetic gives a class of numbers its valueOf, and what operators take
// it for.
func (w *Realm) defineArithmetic(c *class) {
	receiver := func(call goja.FunctionCall) number {
		p, _ := payloadOf(call.This)
		n, ok := p.(number)
		if !ok {
			w.Errors.throwType("called on something that is not a number of the server's")
		}
		return n
	}
	hidden(c.proto, "valueOf", w.function("valueOf", func(call goja.FunctionCall) goja.Value {
		return receiver(call).primitive()
	}))
	convert := w.function("[Symbol.toPrimitive]", func(call goja.FunctionCall) goja.Value {
		n, hint := receiver(call), call.Argument(0).String()
		if hint == "string" {
			return w.rt.ToValue(n.decimal())
		}
		if hint == "default" && n.rounded() {
			w.warnOnce(inexact)
		}
		return n.primitive()
	})
	must(c.proto.DefineDataPropertySymbol(goja.SymToPrimitive, convert, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// exactBigInt makes BigInt(x) of a Long exact.
func (w *Realm) exactBigInt() {
	global := w.rt.GlobalObject()
	original, _ := global.Get("BigInt").(*goja.Object)
	convert := callable(original)
	if convert == nil {
		return
	}
	replacement := w.function("BigInt", func(call goja.FunctionCall) goja.Value {
		if p, ok := payloadOf(call.Argument(0)); ok && isLong(p) {
			return w.rt.ToValue(p.(*long).big())
		}
		v, err := convert(goja.Undefined(), call.Arguments...)
		if err != nil {
			panic(err)
		}
		return v
	})
	proto := original.Get("prototype").(*goja.Object)
	must(replacement.DefineDataProperty("prototype", proto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	must(replacement.SetPrototype(original)) // for what is static
	hidden(proto, "constructor", replacement)
	hidden(global, "BigInt", replacement)
}
