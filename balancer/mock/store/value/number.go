package value

import (
	"math"
	"math/bits"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Arithmetic on two numbers widens the type as the server does: int32 to int64 if the result does not
// fit, decimal with any type to decimal, otherwise double with any type to double. exact is false if
// integers overflow 64 bits; the value is then the nearest double.

// Add returns the sum of two numbers in the wider of their types.
func Add(a, b Value) (sum Value, exact bool) {
	return arithmetic(a, b, AddInt64, func(x, y float64) float64 { return x + y }, DecimalAdd)
}

// Subtract returns the difference of two numbers in the wider of their types.
func Subtract(a, b Value) (difference Value, exact bool) {
	return arithmetic(a, b, SubtractInt64, func(x, y float64) float64 { return x - y }, DecimalSubtract)
}

// Multiply returns the product of two numbers in the wider of their types.
func Multiply(a, b Value) (product Value, exact bool) {
	return arithmetic(a, b, MultiplyInt64, func(x, y float64) float64 { return x * y }, DecimalMultiply)
}

func arithmetic(a, b Value, ints func(x, y int64) (int64, bool), doubles func(x, y float64) float64,
	decimals func(x, y bson.Decimal128) bson.Decimal128,
) (Value, bool) {
	switch {
	case a.Type == bson.TypeDecimal128 || b.Type == bson.TypeDecimal128:
		return Decimal(decimals(ToDecimal(a), ToDecimal(b))), true
	case a.Type == bson.TypeDouble || b.Type == bson.TypeDouble:
		return Double(doubles(ToDouble(a), ToDouble(b))), true
	}
	n, ok := ints(ToInteger(a), ToInteger(b))
	switch {
	case !ok:
		return Double(doubles(ToDouble(a), ToDouble(b))), false
	case a.Type == bson.TypeInt32 && b.Type == bson.TypeInt32:
		return SmallestInt(n), true
	}
	return Int64(n), true
}

// AddInt64 returns the sum, and false on overflow.
func AddInt64(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

// SubtractInt64 returns the difference, and false on overflow.
func SubtractInt64(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

// MultiplyInt64 returns the product, and false on overflow.
func MultiplyInt64(a, b int64) (int64, bool) {
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

// FitsInt64 reports whether a number fits in an int64 after truncation.
func FitsInt64(v Value) bool {
	if v.Type == bson.TypeInt32 || v.Type == bson.TypeInt64 {
		return true
	}
	f := ToDouble(v)
	return !math.IsNaN(f) && f >= -1<<63 && f < 1<<63
}
