// Package balancer is the engine of a sharded cluster's balancer: it decides when a round runs, what
// the round reads, and which splits and migrations it asks for (docs/rules, part 01).
//
// The round loop (Loop) is a state machine. The driver passes it the time and the results of the steps
// that it requested. The loop reads no clock, starts no goroutine and does no I/O. Two drivers run it:
//
//   - Run, on real time: blocking calls, one goroutine for each migration;
//   - EventDriver, on virtual time: every wait is an entry of an event queue,
//     so hours of balancing take milliseconds and repeat exactly.
//
// Both access the cluster through small interfaces, each declared beside the code that uses it: Reader
// (reader.go), Mover (mover.go), Splitter (splits.go), EventLog (eventlog.go) and DefragmentationStore
// (defragment.go). cluster.go composes them into the interfaces that the drivers need: ConcurrentCluster
// for Run, EventCluster for EventDriver. The mock cluster, a live cluster and the simulator implement
// them.
//
// The coroutines of the loop and of its streams, and all callers of the loop, share one mutex
// (Loop.mu).
package balancer
