package plan

import (
	"time"

	"shardsh/balancer/catalog"
)

// GoalKind is what a plan is to lead to.
type GoalKind string

// The kinds of goals.
const (
	// Balance is what the balancer does until it rests.
	Balance GoalKind = "balance"
	// Drain empties one shard.
	Drain GoalKind = "drain"
	// Zones brings every chunk into its zone.
	Zones GoalKind = "zones"
	// Defragment merges small chunks and moves those that need a neighbour.
	Defragment GoalKind = "defragment"
	// Consolidate makes as few chunks as the merges without moves allow.
	Consolidate GoalKind = "consolidate"
	// Undo takes back what was carried out of other plans: apply makes such plans.
	Undo GoalKind = "undo"
)

// GoalKinds returns the kinds of goals.
func GoalKinds() []GoalKind { return []GoalKind{Balance, Drain, Zones, Defragment, Consolidate} }

// Goal is what a plan is to lead to, and for which collections.
type Goal struct {
	Kind GoalKind `json:"kind"`
	// Shard is the one that Drain empties.
	Shard catalog.ShardID `json:"shard,omitzero"`
	// Namespaces are the collections; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Limits bound a plan: it ends before the first step that would pass one. Zero
// is no limit.
type Limits struct {
	Bytes  int64         `json:"bytes,omitzero"`
	Moves  int           `json:"moves,omitzero"`
	Rounds int           `json:"rounds,omitzero"`
	Time   time.Duration `json:"timeNanos,omitzero"`
}
