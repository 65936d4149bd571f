package store

import (
	"math"
	"math/bits"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Arithmetic on two numbers widens as the server does: int32 to int64 when the
// result does not fit, decimal with anything to decimal, otherwise double with
// anything to double. exact is false when integers overflow 64 bits; the value
// then is the nearest double.

func addNumbers(a, b value) (sum value, exact bool) {
	return arithmetic(a, b, addInt64, func(x, y float64) float64 { return x + y }, decimalAdd)
}

func subtractNumbers(a, b value) (difference value, exact bool) {
	return arithmetic(a, b, subtractInt64, func(x, y float64) float64 { return x - y }, decimalSubtract)
}

func multiplyNumbers(a, b value) (product value, exact bool) {
	return arithmetic(a, b, multiplyInt64, func(x, y float64) float64 { return x * y }, decimalMultiply)
}

func arithmetic(a, b value, ints func(x, y int64) (int64, bool), doubles func(x, y float64) float64,
	decimals func(x, y bson.Decimal128) bson.Decimal128,
) (value, bool) {
	switch {
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		return decimalValue(decimals(toDecimal(a), toDecimal(b))), true
	case a.Type == bson.TypeDouble || b.Type == bson.TypeDouble:
		return doubleValue(doubles(toDouble(a), toDouble(b))), true
	}
	n, ok := ints(toInteger(a), toInteger(b))
	switch {
	case !ok:
		return doubleValue(doubles(toDouble(a), toDouble(b))), false
	case a.Type == bson.TypeInt32 && b.Type == bson.TypeInt32:
		return smallestInt(n), true
	}
	return int64Value(n), true
}

func addInt64(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func subtractInt64(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

func multiplyInt64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	switch {
	case hi != 0:
		return 0, false
	case negative:
		return -int64(lo), lo <= 1<<63
	}
	return int64(lo), lo <= math.MaxInt64
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// isFinite reports whether a number fits in 64 bits once cut.
func isFinite(v value) bool {
	f := toDouble(v)
	return !math.IsNaN(f) && f >= -1<<63 && f < 1<<63
}
