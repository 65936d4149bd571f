package main

import (
	"strings"
	"testing"
)

// What only looks takes the time zone of the config servers, as forecasts do.
func TestTimeZoneOfLooks(t *testing.T) {
	for _, line := range [][]string{
		{"check"}, {"map", "--ns", "shop.orders"}, {"report", "--json", "--quick"}, {"watch", "--once"},
	} {
		code, _, stderr := runProgram(t, "", append(line, "--mock", "--time-zone", "Mars")...)
		if code != exitUsage || !strings.Contains(stderr, `--time-zone: "Mars" is not a valid time zone`) {
			t.Errorf("%v: %d, %s", line, code, stderr)
		}
	}
}
