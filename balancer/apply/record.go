package apply

import (
	"encoding/json"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// RecordKind is the kind of a line of a journal.
type RecordKind string

// The kinds of lines.
const (
	// recordPlan is the first record of a journal. It is also written when a new plan replaces the
	// current one, and for an undo.
	recordPlan   RecordKind = "plan"
	recordBegan  RecordKind = "began"
	recordEnded  RecordKind = "ended"
	recordFailed RecordKind = "failed"
	// recordCut is written before a range that is too large is split at points that are not in the
	// plan.
	recordCut RecordKind = "cut"
	// recordMoved is written after each migration of a step, with the amount moved.
	recordMoved RecordKind = "moved"
	// recordNeedsForce is written for a step that is not done because it would need a forced move.
	recordNeedsForce RecordKind = "stays"
	// RecordDraining is written before a shard is marked as draining, RecordDrainStopped after the mark was
	// removed, and RecordShardRemoved after the shard has left the cluster.
	RecordDraining     RecordKind = "marked"
	RecordDrainStopped RecordKind = "unmarked"
	RecordShardRemoved RecordKind = "removed"
	// recordBalancingOff is written before a collection's balancing is switched off, and
	// recordBalancingOn after it was switched on again.
	recordBalancingOff RecordKind = "pausing"
	recordBalancingOn  RecordKind = "balancing"
	// recordFinished ends a plan, recordStopped ends one run of it.
	recordFinished RecordKind = "finished"
	recordStopped  RecordKind = "stopped"
)

// Record is one line of a journal. Fields that do not belong to its kind are
// zero.
type Record struct {
	What RecordKind `json:"what"`
	At   time.Time  `json:"at"`
	// Cluster and Plan belong to recordPlan.
	Cluster bson.ObjectID   `json:"clusterId,omitzero"`
	Plan    json.RawMessage `json:"plan,omitempty"`
	// Step is the number of a step. Before contains the chunks that it changes.
	Step   int          `json:"step,omitzero"`
	Before []priorChunk `json:"before,omitempty"`
	// Min and Max are the actual bounds of a step whose bounds in the plan are estimates, or the bounds
	// of a move.
	Min catalog.Key `json:"min,omitzero"`
	Max catalog.Key `json:"max,omitzero"`
	// Bytes and Documents are the moved amounts.
	Bytes     int64 `json:"bytes,omitzero"`
	Documents int64 `json:"documents,omitzero"`
	// Points are the split points.
	Points []catalog.Key `json:"points,omitempty"`
	// AlreadyDone says that there was nothing to do.
	AlreadyDone bool   `json:"already,omitzero"`
	Error       string `json:"error,omitzero"`
	Namespace   string `json:"ns,omitzero"`
	// Shard is the shard that was marked, unmarked or removed.
	Shard  catalog.ShardID `json:"shard,omitzero"`
	Reason string          `json:"reason,omitzero"`
}

// RecordWriter receives records. A record is durable when Write returns.
type RecordWriter interface {
	Write(r Record) error
}
