package price

import (
	"strings"
	"testing"
	"time"
)

// A way that likely takes longer than another one is not called the quickest.
func TestReasonForTheMoreCertainWay(t *testing.T) {
	c := Comparison{Ways: []Way{
		{Kind: Moves, Moves: 4, Likely: 10 * time.Minute}, {Kind: MergeFirst, Moves: 4, Likely: 9 * time.Minute},
	}}
	c.recommend()
	if c.Recommended != Moves || !strings.Contains(c.Reason, "more certain") || strings.Contains(c.Reason, "quickest") {
		t.Errorf("%s: %s", c.Recommended, c.Reason)
	}
}
