package policy

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// PhaseName is a phase of a defragmentation, as stored in config.collections
// (rules/02-defragmentation-and-merging §2.1).
type PhaseName string

// These are the phases in their order.
const (
	PhaseMergeAndMeasure PhaseName = "mergeAndMeasureChunks"
	PhaseMoveAndMerge    PhaseName = "moveAndMergeChunks"
	PhaseMerge           PhaseName = "mergeChunks"
	// PhaseFinished only removes the fields that the other phases have stored in the catalog.
	PhaseFinished PhaseName = "finished"
)

// Phase is one phase of one collection's defragmentation (rules/02-defragmentation-and-merging §2.3).
// It returns actions and migrations, gets their results, and is complete when no work is left and none
// is in progress.
type Phase interface {
	Name() PhaseName
	// NextAction returns the next merge or measurement.
	NextAction() (StreamAction, bool)
	// RecordActionResult records the result of an action of this phase. The caller has to store a returned
	// measurement with the chunk.
	RecordActionResult(a StreamAction, r StreamActionResult) (measured *Measurement)
	// NextMigration returns the next migration between available shards, and takes the shards out of
	// avail.
	NextMigration(avail *AvailableShards, now time.Time) (Migration, bool)
	// RecordMigrationResult records the result of a migration of this phase.
	RecordMigrationResult(m Migration, err error)
	// Abort drops the work that is not in progress, and sets the phase that follows.
	Abort(next PhaseName)
	IsComplete() bool
	// NextPhase returns the phase that follows when this one is complete.
	NextPhase() PhaseName
	// Remaining returns the amount of remaining work, as the status command reports it
	// (rules/02-defragmentation-and-merging §2.8).
	Remaining() int64
}

// Measurement is the measured size of a chunk, to be stored with the chunk.
type Measurement struct {
	Min, Max catalog.Key
	Size     catalog.Estimate
}

// maxSmallChunk returns the maximum size of a small chunk: a quarter of the chunk size, with the
// server's integer division (rules/02-defragmentation-and-merging §2.4).
func maxSmallChunk(maxChunkSize int64) int64 { return maxChunkSize / 100 * 25 }

// NewPhase begins a phase with the current state of the collection. A phase may be complete from the
// start. Unknown names, such as the former splitChunks, end the defragmentation, and are treated like
// finished.
func NewPhase(name PhaseName, s Situation) Phase {
	switch name {
	case PhaseMergeAndMeasure, PhaseMerge:
		return newMergeRunsPhase(name, s)
	case PhaseMoveAndMerge:
		return newMovePhase(s)
	}
	return finishedPhase{}
}

// finishedPhase is the phase without work.
type finishedPhase struct{}

func (finishedPhase) Name() PhaseName                                                  { return PhaseFinished }
func (finishedPhase) NextAction() (StreamAction, bool)                                 { return StreamAction{}, false }
func (finishedPhase) RecordActionResult(StreamAction, StreamActionResult) *Measurement { return nil }
func (finishedPhase) NextMigration(*AvailableShards, time.Time) (Migration, bool) {
	return Migration{}, false
}
func (finishedPhase) RecordMigrationResult(Migration, error) {}
func (finishedPhase) Abort(PhaseName)                        {}
func (finishedPhase) IsComplete() bool                       { return true }
func (finishedPhase) NextPhase() PhaseName                   { return PhaseFinished }
func (finishedPhase) Remaining() int64                       { return 0 }

// completion is the part of a phase that tracks its completion and its successor.
type completion struct {
	normalNext  PhaseName // the phase that follows without an abort
	outstanding int
	aborted     bool
	next        PhaseName // the phase that follows after an abort
}

func (c *completion) abort(next PhaseName) {
	// An abort by the user is final, whatever fails after it.
	if c.aborted && c.next == PhaseFinished {
		return
	}
	c.aborted, c.next = true, next
}

// NextPhase returns the phase that follows.
func (c *completion) NextPhase() PhaseName {
	if c.aborted {
		return c.next
	}
	return c.normalNext
}

// phaseCollection is the state of the collection when the phase began. Chunks are identified by their
// indexes in its table.
type phaseCollection struct {
	ns       string
	uuid     bson.Binary
	table    *catalog.RoutingTable
	maxChunk int64
	maxSmall int64 // the largest size of a small chunk
}

func newPhaseCollection(s Situation) phaseCollection {
	return phaseCollection{s.Namespace, s.UUID, s.Table, s.maxChunkSize(), maxSmallChunk(s.maxChunkSize())}
}

// chunkRange is a sequence of adjacent chunks of the table: the indexes [from, to).
type chunkRange struct{ from, to int32 }

func (p phaseCollection) bounds(r chunkRange) (min, max catalog.Key) {
	return p.table.At(int(r.from)).Min, p.table.At(int(r.to) - 1).Max
}

func (p phaseCollection) mergeAction(shard catalog.ShardID, r chunkRange) StreamAction {
	min, max := p.bounds(r)
	return StreamAction{Kind: MergeRange, Namespace: p.ns, UUID: p.uuid, Shard: shard, Min: min, Max: max, chunkSpan: r}
}

func (p phaseCollection) measureAction(shard catalog.ShardID, r chunkRange) StreamAction {
	min, max := p.bounds(r)
	return StreamAction{Kind: MeasureRange, Namespace: p.ns, UUID: p.uuid, Shard: shard, Min: min, Max: max,
		MaxBytes: p.maxSmall, chunkSpan: r}
}

// canRetry reports whether a defragmentation may try the operation again after an error
// (rules/02-defragmentation-and-merging §2.7): it was temporary, or the shard did not know its own
// metadata. A shard that names the version it wants knows of a change that the phase does not.
func canRetry(err error) bool {
	code, ok := mongoerr.CodeOf(err)
	if !ok {
		return false
	}
	if code == mongoerr.StaleConfig {
		return !mongoerr.HasExtra(err, "vWanted")
	}
	return code.InCategory("RetriableError")
}

// isPendingDeletion reports whether a migration failed because the recipient still has to delete
// documents of the range.
func isPendingDeletion(err error) bool {
	return mongoerr.Is(err, mongoerr.OperationFailed) && strings.Contains(err.Error(), "ExceededTimeLimit")
}
