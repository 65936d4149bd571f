package value

import (
	"math"
	"strconv"
)

// DoubleText formats a double with up to 16 digits, like "%.16g".
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
