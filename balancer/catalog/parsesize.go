package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

var sizeUnits = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"B", 1},
}

// ParseSize parses a size like "10GB" or "512MiB"; a number without a unit is bytes.
func ParseSize(text string) (int64, error) {
	number, factor := strings.TrimSpace(text), 1.0
	for _, unit := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, unit.suffix); ok {
			number, factor = strings.TrimSpace(rest), unit.factor
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0 && n*factor < 1<<62) {
		return 0, fmt.Errorf("%q is not a size like 10GB or 512MiB", text)
	}
	return int64(n * factor), nil
}
