package values

import (
	"github.com/dop251/goja"
)

// A number of the server's that JavaScript's cannot hold to its last digit
// counts in arithmetic and comparison as the nearest one, as in the old shell;
// methods such as compare and add are exact. Its text always is: in templates,
// in String(x), and added to a text.

// inexactWarning is the warning, shown once, for a value that + or == converted to a number.
const inexactWarning = "a Long or Decimal128 with more digits than a number holds was rounded in + or ==; its " +
	"methods add and compare, BigInt(x) and `${x}` are exact"

// number is a wrapper that counts as a number in arithmetic and comparison.
type number interface {
	payload
	decimalText() string
	// primitiveValue returns its value in arithmetic.
	primitiveValue() goja.Value
	// losesPrecision reports whether JavaScript's number has lost digits.
	losesPrecision() bool
}

// ConcatOperand converts an operand of a string concatenation: to all digits for a
// Long, Decimal128 or Timestamp; others are returned unchanged.
func (w *Realm) ConcatOperand(v goja.Value) goja.Value {
	if p, ok := payloadOf(v); ok {
		if n, ok := p.(number); ok {
			return w.rt.ToValue(n.decimalText())
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
	defineHidden(c.proto, "valueOf", w.newFunction("valueOf", func(call goja.FunctionCall) goja.Value {
		return receiver(call).primitiveValue()
	}))
	convert := w.newFunction("[Symbol.toPrimitive]", func(call goja.FunctionCall) goja.Value {
		n, hint := receiver(call), call.Argument(0).String()
		if hint == "string" {
			return w.rt.ToValue(n.decimalText())
		}
		if hint == "default" && n.losesPrecision() {
			w.warnOnce(inexactWarning)
		}
		return n.primitiveValue()
	})
	must(c.proto.DefineDataPropertySymbol(goja.SymToPrimitive, convert, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// defineExactBigInt makes BigInt(x) of a Long exact.
func (w *Realm) defineExactBigInt() {
	global := w.rt.GlobalObject()
	original, _ := global.Get("BigInt").(*goja.Object)
	convert := callable(original)
	if convert == nil {
		return
	}
	replacement := w.newFunction("BigInt", func(call goja.FunctionCall) goja.Value {
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
	defineHidden(proto, "constructor", replacement)
	defineHidden(global, "BigInt", replacement)
}
