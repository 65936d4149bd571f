package values

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

const numberWarning = ": specifying a number as argument is deprecated and may lead to loss of precision, pass a " +
	"string instead"

// parseInteger parses an integer with the given number of bits. Digits after a decimal point are
// dropped. It throws in the name of the constructor for an invalid number, or one that does not fit
// (rules/04-values-and-language §4.7, fixes).
func (c callee) parseInteger(text string, bits int) int64 {
	t := strings.TrimSpace(text)
	if n, err := strconv.ParseInt(t, 10, bits); err == nil {
		return n
	}
	if whole, fraction, found := strings.Cut(t, "."); found && isDigits(fraction) && whole != "" {
		if n, err := strconv.ParseInt(whole, 10, bits); err == nil {
			return n
		}
	}
	c.throwNotInteger(text, bits)
	return 0
}

func isDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// integerFromNumber works like parseInteger, for a JavaScript number. 2^63 becomes the greatest long:
// scripts write 9223372036854775807, which is 2^63 as a JavaScript number.
func (c callee) integerFromNumber(f float64, bits int) int64 {
	limit := math.Ldexp(1, bits-1)
	t := math.Trunc(f)
	if bits == 64 && t == limit {
		return math.MaxInt64
	}
	if math.IsNaN(f) || t >= limit || t < -limit {
		c.throwNotInteger(c.realm.rt.ToValue(f).String(), bits)
	}
	return int64(t)
}

func (c callee) throwNotInteger(text string, bits int) {
	c.throwArgument(fmt.Sprintf("%s is not a valid %d-bit integer", quoteJSON(text), bits))
}

// integerFrom converts an integer argument of any accepted type.
func (c callee) integerFrom(v goja.Value, bits int) int64 {
	if p, ok := payloadOf(v); ok {
		switch p := p.(type) {
		case *long:
			return c.parseInteger(p.text(10), bits)
		case *int32Value:
			return int64(p.n)
		case *doubleValue:
			return c.integerFromNumber(p.f, bits)
		case *timestamp:
			return p.bits()
		}
	}
	switch typeOf(v) {
	case "number":
		return c.integerFromNumber(v.ToFloat(), bits)
	case "bigint":
		return c.parseInteger(v.Export().(*big.Int).String(), bits)
	case "boolean":
		return v.ToInteger()
	case "undefined":
		return 0
	default:
		return c.parseInteger(v.String(), bits)
	}
}

// newNumberLong implements NumberLong([x]) (rules/04-values-and-language §4.7).
func newNumberLong(w *Realm, args []goja.Value) payload {
	v := arg(args, 0)
	if goja.IsUndefined(v) {
		return &long{realm: w}
	}
	c := callee{w, "NumberLong"}
	c.checkTypes(args, []string{"string", "number", "Long", "Int32"})
	if goja.IsNumber(v) {
		w.warnOnce("NumberLong" + numberWarning)
	}
	return &long{realm: w, n: c.integerFrom(v, 64)}
}

// newLongFrom implements Long(x) and Long(low, high[, unsigned]).
func newLongFrom(w *Realm, args []goja.Value) payload {
	first, second := arg(args, 0), arg(args, 1)
	if goja.IsNumber(first) && goja.IsNumber(second) {
		return &long{realm: w, n: fromBits(first, second), unsigned: arg(args, 2).ToBoolean()}
	}
	c := callee{w, "Long"}
	unsigned := typeOf(second) == "boolean" && second.ToBoolean()
	if unsigned && isString(first) {
		n, err := strconv.ParseUint(strings.TrimSpace(first.String()), 10, 64)
		if err != nil {
			c.throwNotInteger(first.String(), 64)
		}
		return &long{realm: w, n: int64(n), unsigned: true}
	}
	if p, ok := payloadOf(first); ok && isLong(p) {
		return &long{realm: w, n: p.(*long).n, unsigned: unsigned || p.(*long).unsigned}
	}
	return &long{realm: w, n: c.integerFrom(first, 64), unsigned: unsigned}
}

func isLong(p payload) bool {
	_, ok := p.(*long)
	return ok
}

// newNumberInt implements NumberInt([x]).
func newNumberInt(w *Realm, args []goja.Value) payload {
	v := arg(args, 0)
	if goja.IsUndefined(v) {
		return &int32Value{realm: w}
	}
	c := callee{w, "NumberInt"}
	c.checkTypes(args, []string{"string", "number", "Long", "Int32"})
	return &int32Value{realm: w, n: int32(c.integerFrom(v, 32))}
}

// newInt32From implements Int32(x).
func newInt32From(w *Realm, args []goja.Value) payload {
	return &int32Value{realm: w, n: int32(callee{w, "Int32"}.integerFrom(arg(args, 0), 32))}
}
