package policy

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// ActionKind is what a streaming action does.
type ActionKind uint8

// The actions of the secondary thread (rules/02-defragmentation-and-merging §1.1).
const (
	// MergeRange merges the chunks that tile [Min, Max) on Shard.
	MergeRange ActionKind = iota
	// MeasureRange estimates the bytes of [Min, Max) on Shard, up to MaxBytes.
	MeasureRange
	// MergeAll merges whatever may be merged on Shard.
	MergeAll
)

// String returns the action in the server's words.
func (k ActionKind) String() string { return [...]string{"merge", "dataSize", "mergeAllOnShard"}[k] }

// StreamAction is one command of the secondary thread: never a migration.
type StreamAction struct {
	Kind      ActionKind
	Namespace string
	UUID      bson.Binary
	Shard     catalog.ShardID
	Min, Max  catalog.Key // not for MergeAll
	// MaxBytes ends a measurement early (the small-chunk threshold).
	MaxBytes int64
	// Throttled asks for the auto-merger's pause before a MergeAll.
	Throttled bool

	item  span // of a phase: what the action is about
	round int  // of the auto-merger
}

// ActionResult is how an action ended.
type ActionResult struct {
	Err        error
	Size       int64 // MeasureRange: the bytes found
	MaxReached bool  // MeasureRange: there are more than MaxBytes
	Merged     int   // MergeAll: how many chunks went into merged ones
}
