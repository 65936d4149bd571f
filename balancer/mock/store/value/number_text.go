package store

import (
	"encoding/hex"
	"math"
	"strconv"
)

// doubleText has up to 16 digits, as "%.16g".
func doubleText(f float64) string {
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

func uuidText(data []byte) string {
	h := hex.EncodeToString(data)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
