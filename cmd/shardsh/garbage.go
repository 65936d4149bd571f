package main

import "runtime/debug"

// Percentages of the garbage collector: by how much memory may grow until it runs.
const (
	often  = 50  // for what takes much memory by itself, as planning a large cluster does
	seldom = 400 // for what makes much that is soon forgotten, and needs little at a time
)

// collecting has work done with a percentage of the garbage collector.
func collecting[T any](percent int, work func() (T, error)) (T, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	return work()
}
