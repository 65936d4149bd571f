package awake

import "sync/atomic"

// Lookout has the connections of a client, or of a server, look for what comes, as long as
// one of them alone is in use: where several are, CPUs do not sleep. The zero value is
// ready, and a nil Lookout looks for nothing. It is for peers in other processes: one in
// the same process wants the CPU.
type Lookout struct {
	last atomic.Pointer[reader] // who has read last
}
