// Package forecast computes how long a cluster needs to reach a goal: until the cluster is balanced, a
// shard is drained, or a defragmentation has ended. The result is a range of times with its basis in
// words.
package forecast

import (
	"time"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

// Forecast is the duration until a goal is reached, counted from the time of a Snapshot.
type Forecast struct {
	Goal plan.Goal
	// At is the time of the Snapshot, on the clock of the balancer's windows.
	At time.Time
	// Done says that nothing is left to do. All times are 0 in that case.
	Done bool
	// Low and High are the ends of the range; Likely lies between them. They include closed windows,
	// throttles and pauses.
	Low, Likely, High time.Duration
	// Moves and Bytes are the moves and their bytes in the likely simulation.
	Moves int
	Bytes int64
	// Basis says in words what the times are based on, the most important first.
	Basis []string
	// Never says that the goal is not reached with the current settings. Because holds the obstacles.
	Never     bool
	BlockedBy []diagnosis.Finding
	// AssumesBalancerOn says that the balancer is off. The times assume that it is switched on now.
	AssumesBalancerOn bool
	// StuckChunks is how many chunks stay on a draining shard after the balancer has done all that it can. The
	// times are those until then.
	StuckChunks int
	// HasWindow says that the balancer has a window, which the times include.
	HasWindow bool
}
