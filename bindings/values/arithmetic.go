package values

import (
	"github.com/dop251/goja"
)

// In arithmetic and comparison, a server's number that a JavaScript number cannot represent exactly
// counts as the nearest one, as in the old shell. Methods such as compare and add are exact, and so is
// the conversion to a string: in templates, in String(x), and in string concatenation.

// inexactWarning is the warning, shown once, for a value that + or == converted to a number.
const inexactWarning = "a Long or Decimal128 with more digits than a number holds was rounded in + or ==; its " +
	"methods add and compare, BigInt(x) and `${x}` are exact"

// number is a BSON value that counts as a number in arithmetic and comparison.
type number interface {
	payload
	decimalText() string
	// primitiveValue returns the value in arithmetic.
	primitiveValue() goja.Value
	// losesPrecision reports whether the conversion to a JavaScript number loses digits.
	losesPrecision() bool
}

// ConcatOperand converts an operand of a string concatenation. A Long, Decimal128 or Timestamp becomes
// a string with all digits; other values are returned unchanged.
func (w *Realm) ConcatOperand(v goja.Value) goja.Value {
	if p, ok := payloadOf(v); ok {
		if n, ok := p.(number); ok {
			return w.rt.ToValue(n.decimalText())
		}
	}
	return v
}

// defineArithmetic defines valueOf and the conversion to primitives for a class of numbers.
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
	must(replacement.SetPrototype(original)) // for static members
	defineHidden(proto, "constructor", replacement)
	defineHidden(global, "BigInt", replacement)
}
