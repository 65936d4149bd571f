// Package balancer is the engine of a sharded cluster's balancer: it decides
// when a round runs, what the round reads, and which splits and migrations it
// asks for (spec 01).
//
// The round loop (Loop) is a state machine. It is told the time and fed the
// results of what it asked for; it touches no clock, starts no goroutine and
// does no I/O. Two drivers turn it:
//
//   - Run, on real time: blocking calls, one goroutine for each migration;
//   - EventDriver, on virtual time: every wait is an entry of an event queue,
//     so hours of balancing take milliseconds and repeat exactly.
//
// Both see the cluster through the Cluster interface, which the mock cluster
// and a live one implement.
package balancer
