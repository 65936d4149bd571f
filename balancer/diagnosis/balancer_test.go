package diagnosis

import (
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
)

// A window whose next hour falls into the change to daylight saving time does not open in the week ahead: that
// is a finding, too.
func TestWindowThatDoesNotOpen(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	settings := catalog.DefaultSettings()
	settings.Days = []catalog.DayWindow{{Day: time.Sunday, Window: catalog.Window{Start: 2*60 + 15, Stop: 2*60 + 45}}}
	for day, want := range map[int]string{ // of March 2026; on Sunday the 8th, 02:00 is followed by 03:00
		1: " does not open within a week",
		8: " is closed; it opens in 6d14h, at Sunday 02:15",
	} {
		list := windowFindings(catalog.NewSnapshot(catalog.SnapshotParts{
			Time: time.Date(2026, 3, day, 12, 0, 0, 0, zone), Settings: settings, Clock: catalog.BalancerClock{Location: zone},
		}))
		if len(list) != 1 || list[0].Code != WindowShut || !strings.HasSuffix(list[0].Sentence, want) {
			t.Errorf("March %d: %+v, want %s", day, list, want)
		}
	}
}
