package awake

import (
	"testing"
	"time"
)

// TestHabit: a peer that answers soon is looked for; after too many failures nobody looks
// for a second, and then it is tried again.
func TestHabit(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		fails func(i int) bool
		looks int // out of 10,000 times, a millisecond apart
	}{
		{"never fails", func(int) bool { return false }, 10_000},
		{"a third fails", func(i int) bool { return i%3 == 0 }, 10_000},
		{"a rough beginning", func(i int) bool { return i < tolerance }, 10_000},
		// 101 looks in each 1,100 ms, and one in each of the last 100
		{"always fails", func(int) bool { return true }, 9*101 + 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h habit
			looks := 0
			for i := range 10_000 {
				at := now.Add(time.Duration(i) * time.Millisecond)
				if h.looks(at) {
					looks++
					h.tried(!c.fails(i), at)
				}
			}
			if looks != c.looks {
				t.Errorf("looked %d times, want %d", looks, c.looks)
			}
		})
	}
}
