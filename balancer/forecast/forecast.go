// Package forecast says how long a cluster takes to reach a goal: until it is
// balanced, a shard is drained, a defragmentation has ended. The answer is a range
// with its basis in words.
package forecast

import (
	"time"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

// Forecast is how long it takes, counted from the time of a Snapshot.
type Forecast struct {
	Goal plan.Goal
	// At is the time of the Snapshot, on the clock that the balancer's windows go
	// by.
	At time.Time
	// Done tells that nothing is left to do; all times are 0 then.
	Done bool
	// Low and High are the ends of the range, Likely lies between them. They
	// include shut windows, throttles and pauses.
	Low, Likely, High time.Duration
	// Moves and Bytes are what has to move in the likely simulation.
	Moves int
	Bytes int64
	// Basis says in words what the times come from, the weightiest first.
	Basis []string
	// Never says that the goal is not reached with the current settings; Because is what
	// keeps the balancer from it.
	Never   bool
	Because []diagnosis.Finding
	// IfOn tells that the balancer is off; the times are what it would take if it
	// were switched on now.
	IfOn bool
	// Left is how many chunks stay on a shard that drains, when all is done that
	// the balancer can do; the times are those until then.
	Left int
	// Windowed tells that the balancer has a window, which the times go by.
	Windowed bool
}
