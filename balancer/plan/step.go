package plan

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Kind is what a step does.
type Kind string

// The kinds of steps, each of which is one command of a mongos.
const (
	Move  Kind = "move"
	Split Kind = "split"
	Merge Kind = "merge"
)

// Step is one change. Fields that do not belong to the kind are zero.
type Step struct {
	// Number counts from 1. Round is the balancer's, from 1: the steps of one round
	// touch different shards and may run side by side.
	Number int `json:"number"`
	Round  int `json:"round"`
	// After is when it begins, counted from the time of the plan's basis.
	After     time.Duration `json:"afterNanos"`
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
	// Reason is the part of the policy that chose it, Why a sentence with the
	// numbers.
	Reason policy.Reason `json:"reason,omitzero"`
	Why    string        `json:"why"`
}
