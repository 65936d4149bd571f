package plan

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// StepKind is the kind of a step.
type StepKind string

// Move, Split and Merge are the kinds of steps. A move or a merge is one command to a mongos; a split
// is one command for each of its points.
const (
	Move  StepKind = "move"
	Split StepKind = "split"
	Merge StepKind = "merge"
)

// Range is a range of shard keys.
type Range struct {
	Min catalog.Key `json:"min"`
	Max catalog.Key `json:"max"`
}

// Step is one change. Fields that do not belong to its kind are zero.
type Step struct {
	// Number counts from 1. The steps of one round use different shards and may run in parallel. Rounds
	// count from 1. A round of the balancer becomes several rounds if it uses a shard twice, as with
	// splits before a move.
	Number int `json:"number"`
	Round  int `json:"round"`
	// Start is the start of the step, counted from the time of the plan's basis. Takes is its duration.
	Start     time.Duration `json:"afterNanos"`
	Takes     time.Duration `json:"takesNanos"`
	Kind      StepKind      `json:"kind"`
	Namespace string        `json:"ns"`
	// From is the shard that owns the range. To is the recipient of a move.
	From catalog.ShardID `json:"from"`
	To   catalog.ShardID `json:"to,omitzero"`
	// Min and Max are the bounds of the moved range, of the chunk that is split, or of the chunks that
	// are merged.
	Min catalog.Key `json:"min"`
	Max catalog.Key `json:"max"`
	// Points are the split points.
	Points []catalog.Key `json:"points,omitempty"`
	// Chunks is the number of chunks that are merged.
	Chunks    int   `json:"chunks,omitzero"`
	Bytes     int64 `json:"bytes,omitzero"`
	Documents int64 `json:"documents,omitzero"`
	// KnownRange is the range of the data if the bounds of the step were only computed from a model of
	// chunk contents. Min, Max and Points are then estimates. The bounds of Within are bounds of chunks
	// and zones. The execution asks the donor for the split points of the data in Within that are still
	// on From. It is nil if the bounds are exact.
	KnownRange *Range `json:"within,omitempty"`
	// ForceJumbo is in plans of earlier versions. It has no effect.
	ForceJumbo bool `json:"forceJumbo,omitzero"`
	// Reason is the reason for which the policy chose the step. Why is a sentence with the numbers.
	Reason policy.Reason `json:"reason,omitzero"`
	Why    string        `json:"why"`
}
