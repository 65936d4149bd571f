package catalog

import "time"

// NextOpen returns when the balancer's window is open next: now if it is open or if there is no window.
// It returns false if the window never opens. Times are in now's location.
func (s *Settings) NextOpen(now time.Time) (time.Time, bool) {
	if s.inWindow(now) {
		return now, true
	}
	var starts []TimeOfDay
	if len(s.Days) == 0 {
		starts = []TimeOfDay{s.Window.Start}
	}
	for _, d := range s.Days {
		// A window over midnight is also open in the morning of its own day.
		starts = append(starts, 0, d.Start)
	}
	const week = 7
	for day := range week + 1 {
		var best time.Time
		for _, start := range starts {
			at := time.Date(now.Year(), now.Month(), now.Day()+day, 0, int(start), 0, 0, now.Location())
			if at.After(now) && s.inWindow(at) && (best.IsZero() || at.Before(best)) {
				best = at
			}
		}
		if !best.IsZero() {
			return best, true
		}
	}
	return time.Time{}, false
}
