package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Percentages of the garbage collector: by how much memory may grow until it runs.
const (
	often  = 50  // for what takes much memory by itself, as planning a large cluster does
	seldom = 400 // for what makes much that is soon forgotten, and needs little at a time
	usual  = 100 // Go's own
)

// collecting has work done with a percentage of the garbage collector.
func collecting[T any](percent int, work func() (T, error)) (T, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	return work()
}

// roomForGarbage is what may be forgotten in a shell, in bytes, before it is looked
// for: little beside the process, much beside what most scripts hold.
const roomForGarbage = 48 << 20

// collectingForScripts has the garbage collector run seldom as long as the memory in
// use is small, and as usual when it is not. It looks after each collection.
func collectingForScripts() (stop func()) {
	var stopped atomic.Bool
	before := debug.SetGCPercent(seldom)
	now := seldom
	var again func()
	look := func(struct{}) {
		if stopped.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if percent := percentFor(live[0].Value.Uint64()); percent != now {
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

// percentFor returns the percentage that leaves room for garbage beside so much
// memory in use.
func percentFor(live uint64) int {
	return int(min(max(roomForGarbage*100/max(live, 1), usual), seldom))
}
