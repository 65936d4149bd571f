package values

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/dop251/goja"
)

func longStatics(w *Realm, c *class) {
	constants := []struct {
		name     string
		n        int64
		unsigned bool
	}{
		{"MAX_VALUE", math.MaxInt64, false}, {"MIN_VALUE", math.MinInt64, false},
		{"ZERO", 0, false}, {"ONE", 1, false}, {"NEG_ONE", -1, false},
		{"UZERO", 0, true}, {"UONE", 1, true}, {"MAX_UNSIGNED_VALUE", -1, true},
	}
	for _, k := range constants {
		defineHidden(c.ctor, k.name, w.wrapAs(&long{realm: w, n: k.n, unsigned: k.unsigned}, c.proto))
	}
	of := func(n int64, unsigned goja.Value) goja.Value {
		return w.wrap(&long{realm: w, n: n, unsigned: unsigned.ToBoolean()})
	}
	w.defineStatic(c, "fromInt", func(args []goja.Value) goja.Value {
		return of(int64(int32(arg(args, 0).ToInteger())), arg(args, 1))
	})
	w.defineStatic(c, "fromNumber", func(args []goja.Value) goja.Value {
		unsigned := arg(args, 1).ToBoolean()
		return w.wrap(&long{realm: w, n: clampInt64(arg(args, 0).ToFloat(), unsigned), unsigned: unsigned})
	})
	w.defineStatic(c, "fromBigInt", func(args []goja.Value) goja.Value {
		b, ok := arg(args, 0).Export().(*big.Int)
		if !ok {
			w.Errors.throwType("Long.fromBigInt: argument must be a BigInt")
		}
		return of(low64Bits(b), arg(args, 1))
	})
	w.defineStatic(c, "fromBits", func(args []goja.Value) goja.Value {
		return of(fromBits(arg(args, 0), arg(args, 1)), arg(args, 2))
	})
	w.defineStatic(c, "fromValue", func(args []goja.Value) goja.Value {
		l := w.longOf(arg(args, 0))
		return of(l.n, w.rt.ToValue(l.unsigned || arg(args, 1).ToBoolean()))
	})
	parse := func(strict bool) func([]goja.Value) goja.Value {
		return func(args []goja.Value) goja.Value { return w.parseLong(args, strict) }
	}
	w.defineStatic(c, "fromString", parse(false))
	w.defineStatic(c, "fromStringStrict", parse(true))
	w.defineStatic(c, "isLong", func(args []goja.Value) goja.Value {
		p, _ := payloadOf(arg(args, 0))
		_, ok := p.(*long)
		return w.rt.ToValue(ok)
	})
}

// parseLong implements Long.fromString(text[, unsigned[, radix]]).
func (w *Realm) parseLong(args []goja.Value, strict bool) goja.Value {
	text := arg(args, 0).String()
	unsigned, radixArg := arg(args, 1), arg(args, 2)
	if goja.IsNumber(unsigned) {
		unsigned, radixArg = w.rt.ToValue(false), unsigned
	}
	if text == "" && !strict {
		w.Errors.throwBSON("empty string")
	}
	radix := radixOf(w, radixArg)
	signed := !unsigned.ToBoolean()
	b, ok := new(big.Int).SetString(strings.TrimSpace(text), radix)
	inRange := ok && (signed && b.IsInt64() || !signed && b.IsUint64())
	switch {
	case inRange:
		return w.wrap(&long{realm: w, n: low64Bits(b), unsigned: !signed})
	case strict && !ok:
		w.Errors.throwBSON(fmt.Sprintf("Input: '%s' contains invalid characters for radix: %d", text, radix))
	case strict:
		sign := map[bool]string{true: "a signed", false: "an unsigned"}[signed]
		w.Errors.throwBSON(fmt.Sprintf("Input: %s is not representable as %s 64-bit Long with radix: %d", text, sign, radix))
	case radix == 10 && signed:
		return w.newLong(callee{w, "Long"}.parseInteger(text, 64))
	default:
		callee{w, "Long"}.throwNotInteger(text, 64)
	}
	return nil
}
