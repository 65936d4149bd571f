// Package sim runs the balancer's engine on a catalog.Snapshot in virtual time:
// what a plan, a forecast or a what-if run asks "what would happen" of.
//
// The engine is the one that works on clusters; only what it works on is made
// up here. A snapshot does not tell what lies where in a chunk, so that is a
// model the caller chooses (Contents), and so is what things take (Costs). A run
// reads no clock, does no I/O and starts no goroutine; equal configurations give
// equal runs.
package sim
