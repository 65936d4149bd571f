package awake

import "time"

const (
	// patience is how long to look for bytes before sleeping: a command of a script
	// and what the script does before the next take a half of that.
	patience = 200 * time.Microsecond
	// Where more than tolerance of so many looks fail there is a rest. It takes some
	// ticks of the system, during which all of them fail, until it has moved two
	// programs apart that it had put on one CPU.
	tries, tolerance = 256, 100
	rest             = time.Second
)

// habit is when a connection looks: always, while that mostly finds what comes, and
// hardly ever while the peer takes its time or CPUs are scarce. The zero value is ready.
type habit struct {
	looked, failed int
	next           time.Time
}

// looks reports whether to look now.
func (h *habit) looks(now time.Time) bool { return !now.Before(h.next) }

// tried notes whether looking has found something, until now.
func (h *habit) tried(found bool, now time.Time) {
	h.looked++
	if !found {
		h.failed++
	}
	switch {
	case h.failed > tolerance:
		*h = habit{next: now.Add(rest)}
	case h.looked == tries:
		*h = habit{}
	}
}
