// Package swarm tests the program with random clusters, commands and faults. A seed determines the
// cluster, the programs that run on it, and the faults. Afterwards the rules of package trace find
// violations. The runners are the program's own and use the wire protocol.
//
// A run is deterministic. It is in a testing/synctest bubble with virtual time, and every command waits
// at a gate until all other goroutines are blocked. The director, the only goroutine that decides,
// releases one command at a time. So the same seed gives the same trace.
package swarm
