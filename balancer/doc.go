// Package balancer is the engine of a sharded cluster's balancer: it decides
// when a round runs, what the round reads, and which splits and migrations it
// asks for (docs/rules, part 01).
//
// The round loop (Loop) is a state machine. It is told the time and fed the
// results of what it asked for; it touches no clock, starts no goroutine and
// does no I/O. Two drivers run it:
//
//   - Run, on real time: blocking calls, one goroutine for each migration;
//   - EventDriver, on virtual time: every wait is an entry of an event queue,
//     so hours of balancing take milliseconds and repeat exactly.
//
// Both see the cluster through small interfaces, each declared beside the code
// that uses it: Reader (reading.go), Mover (moving.go), Splitter (splits.go),
// EventLog (eventlog.go) and DefragmentationStore (defragment.go). A driver needs
// them composed: Run a SharedCluster, EventDriver an EventCluster (cluster.go).
// The mock cluster, a live one and the simulator implement them.
//
// The coroutines of the loop and of its streams, and all callers of
// the loop, share one mutex (Loop.mu).
package balancer
