package values

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// maxSafe is the largest integer up to which a JavaScript number is exact.
const maxSafe = 1<<53 - 1

type long struct {
	readOnlyFields
	realm    *Realm
	n        int64
	unsigned bool
}

func (w *Realm) newLong(n int64) *goja.Object { return w.wrap(&long{realm: w, n: n}) }

func (*long) kind() kind          { return kindLong }
func (*long) Keys() []string      { return []string{"high", "low", "unsigned"} }
func (l *long) Has(k string) bool { return hasField(l, k) }

func (l *long) Get(key string) goja.Value {
	return l.realm.longField(key, l.n, l.unsigned)
}

func (w *Realm) longField(key string, n int64, unsigned bool) goja.Value {
	switch key {
	case "high":
		return w.rt.ToValue(int32(n >> 32))
	case "low":
		return w.rt.ToValue(int32(n))
	case "unsigned":
		return w.rt.ToValue(unsigned)
	}
	return nil
}

func (l *long) encode(e *encoder) {
	e.buf = bsoncore.AppendInt64(e.buf, l.n)
	e.typ = bson.TypeInt64
}

func (l *long) inspectText(in *inspector) string {
	name := "Long"
	text := in.paint(styleString, "'"+l.text(10)+"'")
	if l.unsigned {
		return name + "(" + text + ", true)"
	}
	return name + "(" + text + ")"
}

func (l *long) writeEJSON(j *jsonWriter) {
	if j.canonical || !isSafeInteger(l.n) || l.unsigned && l.n < 0 {
		j.pair("$numberLong", l.text(10))
		return
	}
	j.raw(l.text(10))
}

func isSafeInteger(n int64) bool { return n >= -maxSafe && n <= maxSafe }

func (l *long) text(radix int) string {
	if l.unsigned {
		return strconv.FormatUint(uint64(l.n), radix)
	}
	return strconv.FormatInt(l.n, radix)
}

func (l *long) big() *big.Int {
	if l.unsigned {
		return new(big.Int).SetUint64(uint64(l.n))
	}
	return big.NewInt(l.n)
}

func (l *long) float() float64 {
	if l.unsigned {
		return float64(uint64(l.n))
	}
	return float64(l.n)
}

func (l *long) decimalText() string { return l.text(10) }

// primitiveValue returns the value in arithmetic and comparison: the nearest number
// (rules/04-values-and-language §4.8).
func (l *long) primitiveValue() goja.Value { return l.realm.rt.ToValue(l.float()) }

func (l *long) isExact() bool { return isSafeInteger(l.n) && !(l.unsigned && l.n < 0) }

func (l *long) losesPrecision() bool {
	if l.isExact() {
		return false
	}
	exact, _ := new(big.Float).SetFloat64(l.float()).Int(nil)
	return exact.Cmp(l.big()) != 0
}

// compare orders two Longs by value, regardless of their signedness.
func (l *long) compare(o *long) int { return l.big().Cmp(o.big()) }

func (l *long) newLike(n int64) goja.Value {
	return l.realm.wrap(&long{realm: l.realm, n: n, unsigned: l.unsigned})
}

// divide returns the quotient rounded towards zero; it throws for a zero divisor.
func (l *long) divide(o *long) int64 {
	if o.n == 0 {
		l.realm.Errors.throwBSON("division by zero")
	}
	if l.unsigned {
		return int64(uint64(l.n) / uint64(o.n))
	}
	return l.n / o.n
}

func (l *long) modulo(o *long) int64 {
	if o.n == 0 {
		l.realm.Errors.throwBSON("division by zero")
	}
	if l.unsigned {
		return int64(uint64(l.n) % uint64(o.n))
	}
	return l.n % o.n
}

func longClass() classSpec {
	return classSpec{
		name:      "Long",
		bsontype:  "Long",
		parent:    noParent,
		construct: newLongFrom,
		methods:   longMethods,
		getters:   longGetters,
		statics:   longStatics,
	}
}

// newIntegerMethod returns a method for Longs and for Timestamps, which are also Longs.
func newIntegerMethod(w *Realm, name string, f func(self *long, args []goja.Value) goja.Value) method {
	return method{name, func(call goja.FunctionCall) goja.Value {
		p, _ := payloadOf(call.This)
		switch p := p.(type) {
		case *long:
			return f(p, call.Arguments)
		case *timestamp:
			return f(&long{realm: w, n: p.bits(), unsigned: true}, call.Arguments)
		}
		w.Errors.throwType("Method " + name + " called on incompatible receiver")
		return nil
	}}
}

func longMethods(w *Realm) []method {
	value := func(v any) goja.Value { return w.rt.ToValue(v) }
	var all []method
	add := func(f func(*long, []goja.Value) goja.Value, names ...string) {
		for _, name := range names {
			all = append(all, newIntegerMethod(w, name, f))
		}
	}
	binary := func(f func(a, b *long) int64, names ...string) {
		add(func(l *long, args []goja.Value) goja.Value { return l.newLike(f(l, w.longOf(arg(args, 0)))) }, names...)
	}
	unary := func(f func(a *long) int64, names ...string) {
		add(func(l *long, _ []goja.Value) goja.Value { return l.newLike(f(l)) }, names...)
	}
	relation := func(f func(cmp int) bool, names ...string) {
		add(func(l *long, args []goja.Value) goja.Value { return value(f(l.compare(w.longOf(arg(args, 0))))) }, names...)
	}
	test := func(f func(n int64, unsigned bool) bool, names ...string) {
		add(func(l *long, _ []goja.Value) goja.Value { return value(f(l.n, l.unsigned)) }, names...)
	}
	shift := func(f func(l *long, by uint) int64, names ...string) {
		add(func(l *long, args []goja.Value) goja.Value {
			return l.newLike(f(l, uint(w.longOf(arg(args, 0)).n&63)))
		}, names...)
	}

	binary(func(a, b *long) int64 { return a.n + b.n }, "add")
	binary(func(a, b *long) int64 { return a.n - b.n }, "subtract", "sub")
	binary(func(a, b *long) int64 { return a.n * b.n }, "multiply", "mul")
	binary(func(a, b *long) int64 { return a.divide(b) }, "divide", "div")
	binary(func(a, b *long) int64 { return a.modulo(b) }, "modulo", "mod", "rem")
	binary(func(a, b *long) int64 { return a.n & b.n }, "and")
	binary(func(a, b *long) int64 { return a.n | b.n }, "or")
	binary(func(a, b *long) int64 { return a.n ^ b.n }, "xor")
	unary(func(a *long) int64 { return -a.n }, "negate", "neg")
	unary(func(a *long) int64 { return ^a.n }, "not")
	shift(func(l *long, by uint) int64 { return l.n << by }, "shiftLeft", "shl")
	shift(func(l *long, by uint) int64 {
		if l.unsigned {
			return int64(uint64(l.n) >> by)
		}
		return l.n >> by
	}, "shiftRight", "shr")
	shift(func(l *long, by uint) int64 { return int64(uint64(l.n) >> by) }, "shiftRightUnsigned", "shr_u", "shru")

	relation(func(c int) bool { return c == 0 }, "equals", "eq")
	relation(func(c int) bool { return c != 0 }, "notEquals", "neq", "ne")
	relation(func(c int) bool { return c < 0 }, "lessThan", "lt")
	relation(func(c int) bool { return c <= 0 }, "lessThanOrEqual", "lte", "le")
	relation(func(c int) bool { return c > 0 }, "greaterThan", "gt")
	relation(func(c int) bool { return c >= 0 }, "greaterThanOrEqual", "gte", "ge")
	add(func(l *long, args []goja.Value) goja.Value { return value(l.compare(w.longOf(arg(args, 0)))) }, "compare", "comp")

	test(func(n int64, _ bool) bool { return n == 0 }, "isZero", "eqz")
	test(func(n int64, u bool) bool { return !u && n < 0 }, "isNegative")
	test(func(n int64, u bool) bool { return u || n >= 0 }, "isPositive")
	test(func(n int64, _ bool) bool { return n&1 == 1 }, "isOdd")
	test(func(n int64, _ bool) bool { return n&1 == 0 }, "isEven")

	add(func(l *long, args []goja.Value) goja.Value { return value(l.text(radixOf(w, arg(args, 0)))) }, "toString")
	add(func(l *long, _ []goja.Value) goja.Value { return value(l.float()) }, "toNumber")
	add(func(l *long, _ []goja.Value) goja.Value { return value(l.big()) }, "toBigInt")
	add(func(l *long, _ []goja.Value) goja.Value {
		if l.unsigned {
			return value(uint32(l.n))
		}
		return value(int32(l.n))
	}, "toInt")
	add(func(l *long, _ []goja.Value) goja.Value { return w.newLong(l.n) }, "toSigned")
	add(func(l *long, _ []goja.Value) goja.Value { return w.wrap(&long{realm: w, n: l.n, unsigned: true}) }, "toUnsigned")
	add(func(l *long, _ []goja.Value) goja.Value {
		if l.isExact() {
			return l.primitiveValue()
		}
		return value(l.text(10)) // a number would lose digits
	}, "toJSON")
	add(func(l *long, _ []goja.Value) goja.Value { return value(int32(l.n >> 32)) }, "getHighBits")
	add(func(l *long, _ []goja.Value) goja.Value { return value(int32(l.n)) }, "getLowBits")
	add(func(l *long, _ []goja.Value) goja.Value { return value(uint32(l.n >> 32)) }, "getHighBitsUnsigned")
	add(func(l *long, _ []goja.Value) goja.Value { return value(uint32(l.n)) }, "getLowBitsUnsigned")
	add(func(l *long, _ []goja.Value) goja.Value {
		n := l.n
		if n < 0 && !l.unsigned {
			n = -n
		}
		return value(max(bits.Len64(uint64(n)), 1))
	}, "getNumBitsAbs")
	return all
}

// longGetters returns the getters of the old shell's NumberLong.
func longGetters(w *Realm) []method {
	return []method{
		newIntegerMethod(w, "floatApprox", func(l *long, _ []goja.Value) goja.Value { return w.rt.ToValue(l.float()) }),
		newIntegerMethod(w, "top", func(l *long, _ []goja.Value) goja.Value { return w.rt.ToValue(int32(l.n >> 32)) }),
		newIntegerMethod(w, "bottom", func(l *long, _ []goja.Value) goja.Value { return w.rt.ToValue(uint32(l.n)) }),
	}
}

func radixOf(w *Realm, v goja.Value) int {
	if isMissing(v) {
		return 10
	}
	r := cmp.Or(int(v.ToInteger()), 10)
	if r < 2 || r > 36 {
		w.Errors.throwBSON("radix")
	}
	return r
}

func fromBits(low, high goja.Value) int64 {
	return int64(uint64(uint32(high.ToInteger()))<<32 | uint64(uint32(low.ToInteger())))
}

// low64Bits returns the low 64 bits.
func low64Bits(b *big.Int) int64 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	return int64(new(big.Int).And(b, mask).Uint64())
}

func clampInt64(f float64, unsigned bool) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case unsigned && f < 0:
		return 0
	case unsigned && f >= 1<<64:
		return -1
	case unsigned:
		return int64(uint64(f))
	case f >= 1<<63:
		return math.MaxInt64
	case f <= -1<<63:
		return math.MinInt64
	default:
		return int64(f)
	}
}

// longOf converts the operand of a Long method.
func (w *Realm) longOf(v goja.Value) *long {
	if p, ok := payloadOf(v); ok {
		switch p := p.(type) {
		case *long:
			return p
		case *timestamp:
			return &long{realm: w, n: p.bits(), unsigned: true}
		case *int32Value:
			return &long{realm: w, n: int64(p.n)}
		case *doubleValue:
			return &long{realm: w, n: clampInt64(p.f, false)}
		}
	}
	switch typeOf(v) {
	case "number":
		return &long{realm: w, n: clampInt64(v.ToFloat(), false)}
	case "bigint":
		b := v.Export().(*big.Int)
		return &long{realm: w, n: low64Bits(b)}
	case "string":
		return &long{realm: w, n: callee{w, "Long"}.parseInteger(v.String(), 64)}
	case "object":
		if o, ok := v.(*goja.Object); ok {
			low, high := o.Get("low"), o.Get("high")
			if goja.IsNumber(low) && goja.IsNumber(high) {
				return &long{realm: w, n: fromBits(low, high)}
			}
		}
	}
	w.Errors.throwType("Cannot convert " + typeOf(v) + " to Long")
	return nil
}
