package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Percentages of the garbage collector (GOGC): how much the heap may grow before it runs.
const (
	frequentGC = 35  // for work that needs much memory, such as planning a large cluster
	rareGC     = 400 // for work that allocates much short-lived memory, and needs little at a time
	defaultGC  = 100 // Go's default
)

// withGC runs work with a GOGC percentage, or with a lower one if much memory is already in use.
func withGC[T any](percent int, work func() (T, error)) (T, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(percentFor(liveBytes(), frequentGC, percent)))
	return work()
}

// liveBytes returns how much memory was in use after the last collection.
func liveBytes() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// garbageAllowance is how much garbage a shell may accumulate, in bytes, before the collector runs:
// little compared with the process, much compared with the live data of most scripts.
const garbageAllowance = 48 << 20

// tuneGCForScripts makes the garbage collector run rarely as long as little memory is in use, and with
// the default percentage otherwise. It adjusts the percentage after each collection.
func tuneGCForScripts() (stop func()) {
	var stopped atomic.Bool
	before := debug.SetGCPercent(rareGC)
	now := rareGC
	var again func()
	look := func(struct{}) {
		if stopped.Load() {
			return
		}
		if percent := percentFor(liveBytes(), defaultGC, rareGC); percent != now {
			now = percent
			debug.SetGCPercent(percent)
		}
		again()
	}
	again = func() { runtime.AddCleanup(new([64]byte), look, struct{}{}) }
	again()
	return func() {
		stopped.Store(true)
		debug.SetGCPercent(before)
	}
}

// percentFor returns the percentage, between least and most, that allows garbageAllowance of garbage
// for so much live memory.
func percentFor(live uint64, least, most int) int {
	return max(least, int(min(garbageAllowance*100/max(live, 1), uint64(most))))
}
