package busypoll

import "time"

const (
	// pollTime is how long to poll before sleeping. A script that sends one command after another needs
	// about half of that time for a command and its own work.
	pollTime = 200 * time.Microsecond
	// Polling pauses after more than maxMisses of windowPolls polls have found no message. When the
	// operating system has placed client and server on the same CPU, every poll misses until the
	// scheduler has separated them, which takes some scheduler ticks. maxMisses allows for that.
	windowPolls, maxMisses = 256, 100
	pauseTime              = time.Second
)

// backoff decides when a connection polls. It polls as long as most polls find a message, and hardly
// ever while the peer is slow or CPUs are scarce. The zero value is ready to use.
type backoff struct {
	polls, misses int
	pollAgainAt   time.Time
}

// shouldPoll reports whether to poll now.
func (b *backoff) shouldPoll(now time.Time) bool { return !now.Before(b.pollAgainAt) }

// record records whether the poll that ended at now has found a message.
func (b *backoff) record(found bool, now time.Time) {
	b.polls++
	if !found {
		b.misses++
	}
	switch {
	case b.misses > maxMisses:
		*b = backoff{pollAgainAt: now.Add(pauseTime)}
	case b.polls == windowPolls:
		*b = backoff{}
	}
}
