package catalog

import (
	"slices"
	"testing"
)

func TestGapTexts(t *testing.T) {
	got := GapTexts([]Gap{
		{What: "sizes", Namespace: "app.a", Reason: "no"}, {What: "orphans", Shard: "s0", Reason: "down"},
		{What: "sizes", Namespace: "app.b", Reason: "no"}, {Reason: "causes were looked for in 100 of 300 collections"},
	})
	want := []string{
		"sizes of app.a and 1 more collection could not be read: no", "orphans of s0 could not be read: down",
		"causes were looked for in 100 of 300 collections",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
