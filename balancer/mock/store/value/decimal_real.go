package value

import (
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ApplyReal applies a real function to a number: the result is a decimal for a decimal, and
// otherwise a double. It is computed in doubles, so that a decimal has their 15
// digits and their range.
func ApplyReal(v Value, f func(x float64) float64) Value {
	return realResult(f(ToDouble(v)), v)
}

// ApplyReal2 is ApplyReal of two numbers: a decimal if one of them is one.
func ApplyReal2(a, b Value, f func(x, y float64) float64) Value {
	return realResult(f(ToDouble(a), ToDouble(b)), a, b)
}

func realResult(x float64, of ...Value) Value {
	for _, v := range of {
		if v.Type != bson.TypeDecimal128 {
			continue
		}
		if d, err := bson.ParseDecimal128(strconv.FormatFloat(x, 'g', 15, 64)); err == nil {
			return Decimal(d)
		}
		return Decimal(DecimalOfDouble(x)) // an infinity: it is written otherwise
	}
	return Double(x)
}
