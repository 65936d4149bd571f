package awake

import (
	"sync/atomic"
	"time"
)

const (
	// patience is how long to look for bytes before sleeping: a command of a script
	// and what the script does before the next take a half of that.
	patience = 200 * time.Microsecond
	// soon is a wait, with the time that it takes to wake up, after which it is worth
	// looking at the next one.
	soon = 2 * patience
)

// Lookout has the connections of a client, or of a server, look for what comes, as long as
// one of them alone is in use: where several are, CPUs do not sleep. The zero value is
// ready, and a nil Lookout looks for nothing. It is for peers in other processes: one in
// the same process wants the CPU.
type Lookout struct {
	last atomic.Pointer[reader] // who has read last
}
