package cmdline

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{"90": 90 * time.Second, "1.5": 1500 * time.Millisecond,
		"30s": 30 * time.Second, "5m": 5 * time.Minute} {
		if d, err := ParseDuration(text); err != nil || d != want {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
}
