// Package swarm shakes the program until it breaks. A seed makes a cluster, what runs on it, and what
// goes wrong; the rules of package trace say afterwards what was broken. The runners are the program's
// own, over the wire protocol.
//
// A run is deterministic. It is in a bubble of package testing/synctest, where time is virtual, and
// every command waits at a gate until all else stands still. The director, the only goroutine that
// decides, lets one go on: so the same seed gives the same trace.
package swarm
