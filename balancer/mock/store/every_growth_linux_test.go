package store

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// Four times as much takes no more than about four times as long: n log n does,
// and what grows with the square would take sixteen.
func TestNothingGrowsWithTheSquare(t *testing.T) { growth(t, everyUse()) }

// Neither does planning, with what plans read, and writing.
func TestPlansDoNotGrowWithTheSquare(t *testing.T) { growth(t, planTasks()) }

func growth(t *testing.T, uses []aUse) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	const most, least, largest = 9, 500, 16_000
	collectNoGarbage(t)
	for _, use := range uses {
		t.Run(use.of, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			n := least
			for n < largest && fastest(t, use, n, 1) < time.Millisecond { // the least that tells
				n *= 2
			}
			factor := 0.0
			for range 5 { // of a square, more shows better
				factor = float64(fastest(t, use, 4*n, 1)) / float64(max(fastest(t, use, n, 3), 500*time.Microsecond))
				if factor <= most {
					return
				}
				n = min(n*3/2, largest)
			}
			t.Errorf("from %d to %d it takes %.1f times as long", n, 4*n, factor)
		})
	}
}

// fastest returns the shortest time of a use, with what it takes to prepare it.
func fastest(t *testing.T, use aUse, n, times int) time.Duration {
	t.Helper()
	s := sizeFor(t, n)
	shortest := time.Duration(math.MaxInt64)
	for range times {
		begun := cpuTime(t)
		if err := use.task(t, s)(t.Context()); err != nil {
			t.Fatal(err)
		}
		shortest = min(shortest, cpuTime(t)-begun)
	}
	return shortest
}
