package values

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

type decimal128 struct {
	readOnlyFields
	realm *Realm
	d     bson.Decimal128
}

func (*decimal128) kind() kind          { return kindDecimal128 }
func (*decimal128) Keys() []string      { return []string{"bytes"} }
func (*decimal128) Has(key string) bool { return key == "bytes" }

func (d *decimal128) Get(key string) goja.Value {
	if key != "bytes" {
		return nil
	}
	return d.realm.newBuffer(decimalBytes(d.d))
}

// decimalBytes returns the 16 bytes in BSON: little endian, low half first.
func decimalBytes(d bson.Decimal128) []byte {
	high, low := d.GetBytes()
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, low), high)
}

func (d *decimal128) encode(e *encoder) {
	high, low := d.d.GetBytes()
	e.buf = bsoncore.AppendDecimal128(e.buf, high, low)
	e.typ = bson.TypeDecimal128
}

func (d *decimal128) inspectText(in *inspector) string {
	return "Decimal128(" + in.paint(styleString, "'"+d.d.String()+"'") + ")"
}

func (d *decimal128) writeEJSON(j *jsonWriter) { j.pair("$numberDecimal", d.d.String()) }

func (d *decimal128) decimalText() string { return d.d.String() }

// primitiveValue returns the value in arithmetic and comparison: the nearest number.
func (d *decimal128) primitiveValue() goja.Value { return d.realm.rt.ToValue(d.float()) }

func (d *decimal128) float() float64 {
	if d.d.IsNaN() {
		return math.NaN()
	}
	if sign := d.d.IsInf(); sign != 0 {
		return math.Inf(sign)
	}
	f, _ := strconv.ParseFloat(d.d.String(), 64)
	return f
}

// losesPrecision reports whether the conversion to a JavaScript number loses digits.
func (d *decimal128) losesPrecision() bool {
	if d.d.IsNaN() || d.d.IsInf() != 0 {
		return false
	}
	f := d.float()
	exact, ok := new(big.Rat).SetString(d.d.String())
	shown, isNumber := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return !ok || !isNumber || exact.Cmp(shown) != 0
}

func decimal128Class() classSpec {
	return classSpec{
		name: "Decimal128", bsontype: "Decimal128", parent: noParent, construct: newDecimal128From,
		methods: func(w *Realm) []method {
			return []method{
				newMethod(w, "toString", func(d *decimal128, _ []goja.Value) goja.Value { return w.rt.ToValue(d.d.String()) }),
				newMethod(w, "toJSON", func(d *decimal128, _ []goja.Value) goja.Value {
					return objectWith(w.rt, "$numberDecimal", w.rt.ToValue(d.d.String()))
				}),
			}
		},
		statics: func(w *Realm, c *class) {
			w.defineStatic(c, "fromString", func(args []goja.Value) goja.Value {
				return w.wrap(&decimal128{realm: w, d: parseDecimal(w, arg(args, 0).String())})
			})
			w.defineStatic(c, "fromStringWithRounding", func(args []goja.Value) goja.Value {
				return w.wrap(&decimal128{realm: w, d: parseDecimalRounding(w, arg(args, 0).String())})
			})
		},
	}
}

// objectWith returns an object with one property.
func objectWith(rt *goja.Runtime, key string, v goja.Value) *goja.Object {
	o := rt.NewObject()
	must(o.Set(key, v))
	return o
}

func parseDecimal(w *Realm, text string) bson.Decimal128 {
	d, err := bson.ParseDecimal128(text)
	if err == nil {
		return d
	}
	if problem := decimalProblem(text); problem != "" {
		w.Errors.throwBSON(`"` + text + `" is not a valid Decimal128 string - ` + problem)
	}
	w.Errors.throwBSON(text + " not a valid Decimal128 string")
	return d
}

// decimalDigits is the number of digits in a Decimal128's coefficient.
const decimalDigits = 34

// splitDecimal splits a decimal number into its sign, its digits without leading zeros, and its
// exponent.
func splitDecimal(text string) (negative bool, digits string, exponent int, ok bool) {
	body, power, found := strings.Cut(strings.ToLower(text), "e")
	if found {
		n, err := strconv.Atoi(power)
		if err != nil {
			return false, "", 0, false
		}
		exponent = n
	}
	negative = strings.HasPrefix(body, "-")
	if negative || strings.HasPrefix(body, "+") {
		body = body[1:]
	}
	whole, fraction, _ := strings.Cut(body, ".")
	if !isDigits(whole+fraction) || whole+fraction == "" {
		return false, "", 0, false
	}
	return negative, strings.TrimLeft(whole+fraction, "0"), exponent - len(fraction), true
}

// decimalProblem returns why a well-formed number can't be a Decimal128.
func decimalProblem(text string) string {
	_, digits, exponent, ok := splitDecimal(text)
	switch {
	case !ok:
		return ""
	case len(strings.TrimRight(digits, "0")) > decimalDigits:
		return "inexact rounding"
	case exponent > 0:
		return "overflow"
	default:
		return "exponent underflow"
	}
}

// parseDecimalRounding works like parseDecimal, but rounds excess digits half to even, as js-bson does.
func parseDecimalRounding(w *Realm, text string) bson.Decimal128 {
	negative, digits, exponent, ok := splitDecimal(text)
	surplus := len(digits) - decimalDigits
	if !ok || surplus <= 0 {
		return parseDecimal(w, text)
	}
	coefficient, _ := new(big.Int).SetString(digits[:decimalDigits], 10)
	rest := strings.TrimRight(digits[decimalDigits:], "0")
	if rest > "5" || rest == "5" && coefficient.Bit(0) == 1 {
		coefficient.Add(coefficient, big.NewInt(1))
	}
	sign := ""
	if negative {
		sign = "-"
	}
	return parseDecimal(w, fmt.Sprintf("%s%sE%d", sign, coefficient, exponent+surplus))
}

// newNumberDecimal implements NumberDecimal([x]).
func newNumberDecimal(w *Realm, args []goja.Value) payload {
	v := arg(args, 0)
	if goja.IsUndefined(v) {
		return &decimal128{realm: w, d: parseDecimal(w, "0")}
	}
	callee{w, "NumberDecimal"}.checkTypes(args, []string{"string", "number", "Long", "Int32", "Decimal128"})
	if p, ok := payloadOf(v); ok {
		if d, ok := p.(*decimal128); ok {
			return &decimal128{realm: w, d: d.d}
		}
	}
	if goja.IsNumber(v) {
		w.warnOnce("NumberDecimal" + numberWarning)
		return &decimal128{realm: w, d: parseDecimal(w, numberText(w.rt, v.ToFloat()))}
	}
	return &decimal128{realm: w, d: parseDecimal(w, v.String())}
}

// newDecimal128From implements Decimal128(text or 16 bytes).
func newDecimal128From(w *Realm, args []goja.Value) payload {
	v := arg(args, 0)
	if isString(v) {
		return &decimal128{realm: w, d: parseDecimal(w, v.String())}
	}
	data, ok := bytesOf(v)
	if !ok {
		w.Errors.throwBSON("Decimal128 must take a Buffer or string")
	}
	if len(data) != 16 {
		w.Errors.throwBSON("Decimal128 must take a Buffer of 16 bytes")
	}
	low, high := binary.LittleEndian.Uint64(data[:8]), binary.LittleEndian.Uint64(data[8:])
	return &decimal128{realm: w, d: bson.NewDecimal128(high, low)}
}
