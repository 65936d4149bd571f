package testrunner

import (
	"strings"
	"testing"
)

// The end of a long output begins with a whole character.
func TestLongOutputIsCutBetweenCharacters(t *testing.T) {
	if got, want := quoted("x"+strings.Repeat("\u00e9", 1000)+"y"), "  \u2026"+strings.Repeat("\u00e9", 999)+"y"; got != want {
		t.Errorf("%.20q and so on, want %.20q", got, want)
	}
}
