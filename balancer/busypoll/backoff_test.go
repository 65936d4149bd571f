package busypoll

import (
	"testing"
	"time"
)

// TestBackoff: while the peer answers soon every read polls; after too many misses none
// does for a second, and then it is tried again.
func TestBackoff(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		misses func(i int) bool
		polls  int // out of 10,000 reads, a millisecond apart
	}{
		{"never misses", func(int) bool { return false }, 10_000},
		{"a third misses", func(i int) bool { return i%3 == 0 }, 10_000},
		{"misses at first", func(i int) bool { return i < maxMisses }, 10_000},
		// 101 polls in each 1,100 ms, and one in each of the last 100
		{"always misses", func(int) bool { return true }, 9*101 + 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b backoff
			polls := 0
			for i := range 10_000 {
				at := now.Add(time.Duration(i) * time.Millisecond)
				if b.shouldPoll(at) {
					polls++
					b.record(!c.misses(i), at)
				}
			}
			if polls != c.polls {
				t.Errorf("polled %d times, want %d", polls, c.polls)
			}
		})
	}
}
