package policy

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// StreamActionKind is the kind of a streaming action.
type StreamActionKind uint8

// The actions of the secondary thread (rules/02-defragmentation-and-merging §1.1).
const (
	// MergeRange merges the chunks that exactly cover [Min, Max) on Shard.
	MergeRange StreamActionKind = iota
	// MeasureRange estimates the bytes of [Min, Max) on Shard, up to MaxBytes.
	MeasureRange
	// MergeAll merges all chunks on Shard that can be merged.
	MergeAll
)

// String returns the action as the server names it.
func (k StreamActionKind) String() string {
	return [...]string{"merge", "dataSize", "mergeAllOnShard"}[k]
}

// StreamAction is one command of the secondary thread. It is never a migration.
type StreamAction struct {
	Kind      StreamActionKind
	Namespace string
	UUID      bson.Binary
	Shard     catalog.ShardID
	Min, Max  catalog.Key // not for MergeAll
	// MaxBytes is the size at which a measurement ends early (the small-chunk threshold).
	MaxBytes int64
	// Throttled says that the auto-merger's pause applies before a MergeAll.
	Throttled bool

	chunkSpan chunkRange // the chunks of the action, in a phase
	round     int        // the round of the auto-merger
}

// StreamActionResult is the result of an action.
type StreamActionResult struct {
	Err           error
	MeasuredBytes int64 // MeasureRange: the measured bytes
	MaxReached    bool  // MeasureRange: the size is more than MaxBytes
	MergedChunks  int   // MergeAll: the number of chunks that were merged
}
