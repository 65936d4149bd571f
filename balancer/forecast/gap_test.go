package forecast

import (
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
)

// The basis names the deletion of ranges where moves wait for it: for one gap that is long, not
// for many short ones between rounds.
func TestBasisNamesDeletions(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(minutes float64) time.Time { return start.Add(time.Duration(minutes * float64(time.Minute))) }
	for name, tt := range map[string]struct {
		work      []period
		deletions int
		want      bool
	}{
		"a wait of 14 minutes":    {[]period{{at(0), at(1)}, {at(15), at(16)}}, 2, true},
		"a wait at the beginning": {[]period{{at(15), at(16)}}, 2, true},
		"nothing to delete":       {[]period{{at(15), at(16)}}, 0, false},
		"pauses between rounds":   {[]period{{at(0), at(1)}, {at(3), at(4)}, {at(6), at(7)}, {at(9), at(10)}}, 2, false},
	} {
		b := basis{simulated: simulation{movePeriods: tt.work, doneAt: tt.work[len(tt.work)-1].ended}, at: start, deletions: tt.deletions}
		b.window.settings = catalog.Settings{}
		got := slices.ContainsFunc(b.sentences(), func(text string) bool { return strings.Contains(text, "deleted them") })
		if got != tt.want {
			t.Errorf("%s: %v", name, b.sentences())
		}
	}
}
