package main

import "testing"

func TestPercentFor(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name              string
		least, most, want int
		live              uint64
	}{
		{"a script that holds nothing", defaultGC, rareGC, 400, 0},
		{"a script", defaultGC, rareGC, 400, 12 * mib},
		{"a script that holds much", defaultGC, rareGC, 200, 24 * mib},
		{"a script that holds very much", defaultGC, rareGC, 100, 1 << 40},
		{"a forecast of a small cluster", frequentGC, rareGC, 400, 12 * mib},
		{"a forecast of a large one", frequentGC, rareGC, 35, 200 * mib},
		{"a plan", frequentGC, frequentGC, 35, 0},
	} {
		if got := percentFor(tt.live, tt.least, tt.most); got != tt.want {
			t.Errorf("%s: with %d MiB in use %d %%, want %d", tt.name, tt.live/mib, got, tt.want)
		}
	}
}
