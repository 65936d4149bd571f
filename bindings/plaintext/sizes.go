package plaintext

import (
	"math"
	"strconv"
)

// DatabaseSizeText formats a size in show dbs (rules/04-values-and-language §3.8).
func DatabaseSizeText(bytes float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for i < len(units)-1 && bytes >= 1024 {
		bytes /= 1024
		i++
	}
	if i == 0 && bytes <= 1000 {
		return strconv.FormatFloat(bytes, 'f', -1, 64) + " B"
	}
	return strconv.FormatFloat(bytes, 'f', 2, 64) + " " + units[i]
}

// DistributionSizeText formats a size in getShardDistribution: truncated, not rounded, and without a
// space.
func DistributionSizeText(b float64) string {
	if math.IsNaN(b) || b == 0 {
		return "0B"
	}
	kib := math.Floor(b / 1024)
	mib := math.Floor(b / (1 << 20))
	switch {
	case b < 1<<10:
		return JSNumber(math.Floor(b)) + "B"
	case b < 1<<20:
		return JSNumber(kib) + "KiB"
	case b < 1<<30:
		return JSNumber(math.Floor(kib/1024*100)/100) + "MiB"
	}
	return JSNumber(math.Floor(mib/1024*100)/100) + "GiB"
}
