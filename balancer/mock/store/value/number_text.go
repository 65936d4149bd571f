package value

import (
	"encoding/hex"
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

// UUIDText formats the 16 bytes of a UUID with hyphens.
func UUIDText(data []byte) string {
	h := hex.EncodeToString(data)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
