package script

import (
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// TestTooLong: the library's clock lags behind on a busy machine, and a match that it stops
// early must not pass for one that found nothing.
func TestTooLong(t *testing.T) {
	limit := regexp2.DefaultMatchTimeout
	for took, want := range map[time.Duration]bool{0: false, limit / 4: false, limit * 3 / 4: true, limit: true} {
		if got := mayHaveTimedOut(time.Now().Add(-took)); got != want {
			t.Errorf("a match of %v, with a limit of %v: too long: %v", took, limit, got)
		}
	}
}
