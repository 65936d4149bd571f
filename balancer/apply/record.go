package apply

import (
	"encoding/json"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// RecordKind says what a line of a journal is about.
type RecordKind string

// The kinds of lines.
const (
	// recordPlan begins a journal, and stands wherever another plan takes over: after
	// re-planning, and for an undoing.
	recordPlan   RecordKind = "plan"
	recordBegan  RecordKind = "began"
	recordEnded  RecordKind = "ended"
	recordFailed RecordKind = "failed"
	// recordCut is written before a range that is too large is split, at points that the plan
	// knows nothing of.
	recordCut RecordKind = "cut"
	// recordMoved stands after each migration of a step: what it has moved.
	recordMoved RecordKind = "moved"
	// recordStays stands for a step that is not done, as only force could.
	recordStays RecordKind = "stays"
	// RecordMarked stands before a shard is marked as draining, RecordUnmarked after that was taken
	// back, RecordRemoved after it has left the cluster.
	RecordMarked   RecordKind = "marked"
	RecordUnmarked RecordKind = "unmarked"
	RecordRemoved  RecordKind = "removed"
	// recordPausing stands before a collection's balancing is switched off, balancing
	// after it was switched on again.
	recordPausing RecordKind = "pausing"
	recordResumed RecordKind = "balancing"
	// recordFinished ends what a plan is about, stopped one run of it.
	recordFinished RecordKind = "finished"
	recordStopped  RecordKind = "stopped"
)

// Record is one line of a journal. Fields that do not belong to its kind are
// zero.
type Record struct {
	What RecordKind `json:"what"`
	At   time.Time  `json:"at"`
	// Cluster and Plan belong to a plan.
	Cluster bson.ObjectID   `json:"clusterId,omitzero"`
	Plan    json.RawMessage `json:"plan,omitempty"`
	// Step is the number of one, Before are the chunks that it touches.
	Step   int          `json:"step,omitzero"`
	Before []priorChunk `json:"before,omitempty"`
	// Min and Max bound what it is about, where only the cluster could say that, and what
	// was moved.
	Min catalog.Key `json:"min,omitzero"`
	Max catalog.Key `json:"max,omitzero"`
	// Bytes and Documents were moved.
	Bytes     int64 `json:"bytes,omitzero"`
	Documents int64 `json:"documents,omitzero"`
	// Points are where it is cut.
	Points []catalog.Key `json:"points,omitempty"`
	// Already tells that there was nothing to do.
	Already   bool   `json:"already,omitzero"`
	Error     string `json:"error,omitzero"`
	Namespace string `json:"ns,omitzero"`
	// Shard is one that is marked, or not any more.
	Shard  catalog.ShardID `json:"shard,omitzero"`
	Reason string          `json:"reason,omitzero"`
}

// Log is where records go. A record is safe when Write returns.
type Log interface {
	Write(r Record) error
}
