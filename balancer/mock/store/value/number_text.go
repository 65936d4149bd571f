package value

import (
	"math"
	"strconv"
)

// DoubleText has up to 16 digits, as "%.16g".
func DoubleText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'g', 16, 64)
}
