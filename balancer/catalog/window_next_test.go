package catalog

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNextOpen: it is open then, and at no minute before.
func TestNextOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := func() Window {
			start := rapid.IntRange(0, 1439).Draw(t, "start")
			length := rapid.IntRange(1, 1439).Draw(t, "length")
			return Window{Start: TimeOfDay(start), Stop: TimeOfDay((start + length) % 1440)}
		}
		var s Settings
		if rapid.Bool().Draw(t, "by day") {
			for range rapid.IntRange(1, 3).Draw(t, "days") {
				s.Days = append(s.Days, DayWindow{time.Weekday(rapid.IntRange(0, 6).Draw(t, "day")), window()})
			}
		} else {
			w := window()
			s.Window = &w
		}
		minute, second := rapid.IntRange(0, 10_000).Draw(t, "minute"), rapid.IntRange(0, 59).Draw(t, "second")
		now := time.Date(2026, 2, 27, 0, minute, second, 0, time.UTC)
		opens, ok := s.NextOpen(now)
		if !ok || opens.Before(now) || !s.inWindow(opens) {
			t.Fatalf("%v: opens at %v (%v)", now, opens, ok)
		}
		for at := now; at.Before(opens); at = at.Add(time.Minute) {
			if s.inWindow(at) {
				t.Fatalf("%v: open at %v already, not only at %v", now, at, opens)
			}
		}
	})
	if opens, ok := (&Settings{}).NextOpen(time.Unix(5, 0)); !ok || !opens.Equal(time.Unix(5, 0)) {
		t.Error("without a window it is open now, not", opens, ok)
	}
}
