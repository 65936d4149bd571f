package busypoll

import "time"

const (
	// pollTime is how long to poll before sleeping. A command of a script, with what the
	// script does before the next one, takes half of it.
	pollTime = 200 * time.Microsecond
	// After more than maxMisses of a window of polls have found nothing, polling pauses.
	// Where the system has put client and server on one CPU, every poll misses until it
	// has moved them apart, which takes some of its ticks: maxMisses allows for that.
	window, maxMisses = 256, 100
	pauseTime         = time.Second
)

// backoff decides when a connection polls: always while polling mostly finds a message,
// and hardly ever while the peer is slow or CPUs are scarce. The zero value is ready.
type backoff struct {
	polls, misses int
	pollAgainAt   time.Time
}

// shouldPoll reports whether to poll now.
func (b *backoff) shouldPoll(now time.Time) bool { return !now.Before(b.pollAgainAt) }

// record notes whether a poll that ended now has found a message.
func (b *backoff) record(found bool, now time.Time) {
	b.polls++
	if !found {
		b.misses++
	}
	switch {
	case b.misses > maxMisses:
		*b = backoff{pollAgainAt: now.Add(pauseTime)}
	case b.polls == window:
		*b = backoff{}
	}
}
