package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Percentages of the garbage collector: by how much memory may grow until it runs.
const (
	frequentGC = 35  // for what takes much memory by itself, as planning a large cluster does
	rareGC     = 400 // for what makes much that is soon forgotten, and needs little at a time
	defaultGC  = 100 // Go's own
)

// withGC runs work with a percentage of the garbage collector, or with less where much
// memory is in use already.
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

// garbageAllowance is what may be forgotten in a shell, in bytes, before it is looked
// for: little beside the process, much beside what most scripts hold.
const garbageAllowance = 48 << 20

// tuneGCForScripts has the garbage collector run rarely as long as the memory in use is
// small, and with the default when it is not. It looks after each collection.
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

// percentFor returns the percentage, from least to most, that leaves room for garbage
// beside so much memory in use.
func percentFor(live uint64, least, most int) int {
	return max(least, int(min(garbageAllowance*100/max(live, 1), uint64(most))))
}
