package value

import (
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ApplyReal applies a real function to a number. The result is a decimal for a decimal, else a double.
// The function is computed in doubles, so a decimal result has their 15 digits and their range.
func ApplyReal(v Value, f func(x float64) float64) Value {
	return realResult(f(ToDouble(v)), v)
}

// ApplyReal2 is like ApplyReal, for two numbers. The result is a decimal if one of them is a decimal.
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
		return Decimal(DecimalOfDouble(x)) // ±Inf or NaN have another conversion
	}
	return Double(x)
}
