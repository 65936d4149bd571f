package plan

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Kind is what a step does.
type Kind string

// The kinds of steps. Moves and merges are one command of a mongos each, a split is
// one for each of its points.
const (
	Move  Kind = "move"
	Split Kind = "split"
	Merge Kind = "merge"
)

// Range is a range of shard keys.
type Range struct {
	Min catalog.Key `json:"min"`
	Max catalog.Key `json:"max"`
}

// Step is one change. Fields that do not belong to the kind are zero.
type Step struct {
	// Number counts from 1. The steps of one round, from 1, touch different shards
	// and may run side by side: a round of the balancer is more than one where it
	// touches a shard twice, as with splits before a move.
	Number int `json:"number"`
	Round  int `json:"round"`
	// After is when it begins, counted from the time of the plan's basis, and Takes
	// how long it takes.
	After     time.Duration `json:"afterNanos"`
	Takes     time.Duration `json:"takesNanos"`
	Kind      Kind          `json:"kind"`
	Namespace string        `json:"ns"`
	// From is the shard that has the range; To is where a move brings it.
	From catalog.ShardID `json:"from"`
	To   catalog.ShardID `json:"to,omitzero"`
	// Min and Max are the bounds of what moves, of the chunk that is split, or of
	// the chunks that are merged.
	Min catalog.Key `json:"min"`
	Max catalog.Key `json:"max"`
	// Points are where a split cuts.
	Points []catalog.Key `json:"points,omitempty"`
	// Chunks is how many are merged.
	Chunks    int   `json:"chunks,omitzero"`
	Bytes     int64 `json:"bytes,omitzero"`
	Documents int64 `json:"documents,omitzero"`
	// Within is where the data lie whose bounds were only computed, from what chunks are
	// taken to hold: Min, Max and Points are then an expectation. Its own bounds are those
	// of chunks and zones. Whoever carries out the step has the donor say where to cut
	// what is left on From there. Nil where the bounds are known.
	Within *Range `json:"within,omitempty"`
	// ForceJumbo is in plans of earlier versions. Nothing follows it.
	ForceJumbo bool `json:"forceJumbo,omitzero"`
	// Reason is the part of the policy that chose it, Why a sentence with the
	// numbers.
	Reason policy.Reason `json:"reason,omitzero"`
	Why    string        `json:"why"`
}
