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
	Goal plan.Goal `json:"goal"`
	// At is the time of the Snapshot, on the cluster's clock.
	At time.Time `json:"at"`
	// Done tells that nothing is left to do; all times are 0 then.
	Done bool `json:"done"`
	// Low and High are the ends of the range, Likely lies between them. They
	// include shut windows, throttles and pauses.
	Low    time.Duration `json:"lowNanos"`
	Likely time.Duration `json:"likelyNanos"`
	High   time.Duration `json:"highNanos"`
	// Moves and Bytes are what has to move in the likely course.
	Moves int   `json:"moves"`
	Bytes int64 `json:"bytes"`
	// Basis says in words what the times come from, the weightiest first.
	Basis []string `json:"basis"`
	// Never tells that the goal is not reached as things stand; Because is what
	// keeps the balancer from it.
	Never   bool                `json:"never"`
	Because []diagnosis.Finding `json:"because"`
	// IfOn tells that the balancer is off; the times are what it would take if it
	// were switched on now.
	IfOn bool `json:"ifSwitchedOn"`
	// Left is how many chunks stay on a shard that drains, when all is done that
	// the balancer can do; the times are those until then.
	Left int `json:"left"`
}
