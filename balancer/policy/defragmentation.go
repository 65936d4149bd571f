package policy

import (
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// PhaseName is a phase of a defragmentation, as config.collections keeps it
// (rules/02-defragmentation-and-merging §2.1).
type PhaseName string

// The phases in their order.
const (
	PhaseMergeAndMeasure PhaseName = "mergeAndMeasureChunks"
	PhaseMoveAndMerge    PhaseName = "moveAndMergeChunks"
	PhaseMerge           PhaseName = "mergeChunks"
	// PhaseFinished has nothing to do but to remove what the others left in
	// the catalog.
	PhaseFinished PhaseName = "finished"
)

// Phase is one phase of one collection's defragmentation (rules/02-defragmentation-and-merging §2.3).
// It hands out work, is told how it ended, and is complete when nothing is left and nothing is under
// way.
type Phase interface {
	Name() PhaseName
	// NextAction is the next merge or measurement.
	NextAction() (StreamAction, bool)
	// ActionDone takes over how an action of this phase ended; a size that was
	// measured has to be stored with the chunk.
	ActionDone(a StreamAction, r ActionResult) (measured *Measurement)
	// NextMigration is the next migration between shards that are available,
	// which it takes.
	NextMigration(avail *Available, now time.Time) (Migration, bool)
	// MigrationDone takes over how a migration of this phase ended.
	MigrationDone(m Migration, err error)
	// Abort drops what is not under way and makes next the phase to follow.
	Abort(next PhaseName)
	Complete() bool
	// Next is the phase that follows, once this one is complete.
	Next() PhaseName
	// Remaining counts what is left to do, as the status command reports it
	// (rules/02-defragmentation-and-merging §2.8).
	Remaining() int64
}

// Measurement is the size of a chunk to be stored.
type Measurement struct {
	Min, Max catalog.Key
	Size     catalog.Estimate
}

// smallChunk returns the size up to which a chunk is small: a quarter of the
// chunk size, with the server's integer division (rules/02-defragmentation-and-merging §2.4).
func smallChunk(maxChunkSize int64) int64 { return maxChunkSize / 100 * 25 }

// NewPhase begins a phase with the collection as it is now. A phase may be
// complete from the start. Unknown names, such as splitChunks of old, end the
// defragmentation, and so are finished.
func NewPhase(name PhaseName, s Situation) Phase {
	switch name {
	case PhaseMergeAndMeasure, PhaseMerge:
		return newRunsPhase(name, s)
	case PhaseMoveAndMerge:
		return newMovePhase(s)
	}
	return finishedPhase{}
}

// finishedPhase is the phase without work.
type finishedPhase struct{}

func (finishedPhase) Name() PhaseName                                    { return PhaseFinished }
func (finishedPhase) NextAction() (StreamAction, bool)                   { return StreamAction{}, false }
func (finishedPhase) ActionDone(StreamAction, ActionResult) *Measurement { return nil }
func (finishedPhase) NextMigration(*Available, time.Time) (Migration, bool) {
	return Migration{}, false
}
func (finishedPhase) MigrationDone(Migration, error) {}
func (finishedPhase) Abort(PhaseName)                {}
func (finishedPhase) Complete() bool                 { return true }
func (finishedPhase) Next() PhaseName                { return PhaseFinished }
func (finishedPhase) Remaining() int64               { return 0 }

// ending is the part of a phase that knows when it is over.
type ending struct {
	usual       PhaseName // what follows when all went well
	outstanding int
	aborted     bool
	next        PhaseName // after an abort
}

func (e *ending) abort(next PhaseName) {
	// An abort by the user is final, whatever fails after it.
	if e.aborted && e.next == PhaseFinished {
		return
	}
	e.aborted, e.next = true, next
}

// Next returns the phase that follows.
func (e *ending) Next() PhaseName {
	if e.aborted {
		return e.next
	}
	return e.usual
}

// subject is the collection of a phase, frozen when the phase began. The
// table is kept, and chunks are told by their positions in it.
type subject struct {
	ns       string
	uuid     bson.Binary
	table    *catalog.RoutingTable
	maxChunk int64
	small    int64 // the largest size of a small chunk
}

func newSubject(s Situation) subject {
	return subject{s.Namespace, s.UUID, s.Table, s.maxChunkSize(), smallChunk(s.maxChunkSize())}
}

// span is some neighbouring chunks of the table: the positions [from, to).
type span struct{ from, to int32 }

func (s subject) bounds(r span) (min, max catalog.Key) {
	return s.table.At(int(r.from)).Min, s.table.At(int(r.to) - 1).Max
}

func (s subject) merge(shard catalog.ShardID, r span) StreamAction {
	min, max := s.bounds(r)
	return StreamAction{Kind: MergeRange, Namespace: s.ns, UUID: s.uuid, Shard: shard, Min: min, Max: max, item: r}
}

func (s subject) measure(shard catalog.ShardID, r span) StreamAction {
	min, max := s.bounds(r)
	return StreamAction{Kind: MeasureRange, Namespace: s.ns, UUID: s.uuid, Shard: shard, Min: min, Max: max,
		MaxBytes: s.small, item: r}
}

// retriable are the errors after which a defragmentation tries the same again
// (rules/02-defragmentation-and-merging §2.7).
var retriable = []mongoerr.Code{
	mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.NetworkTimeout, mongoerr.ShutdownInProgress,
	mongoerr.ReadConcernMajorityNotAvailableYet, mongoerr.PrimarySteppedDown, mongoerr.ExceededTimeLimit,
	mongoerr.ConnectionPoolExpired, mongoerr.InternalTransactionNotSupported, mongoerr.ConnectionError,
	mongoerr.ResourceExhausted, mongoerr.PooledConnectionAcquisitionExceededTimeLimit, mongoerr.UpdatesStillPending,
	mongoerr.SocketException, mongoerr.NotWritablePrimary, mongoerr.InterruptedAtShutdown,
	mongoerr.InterruptedDueToReplStateChange, mongoerr.NotPrimaryNoSecondaryOk, mongoerr.NotPrimaryOrSecondary,
	mongoerr.BackupCursorOpenConflictWithCheckpoint, mongoerr.RetriableRemoteCommandFailure,
}

// retry reports whether the same may be tried again after an error: it was
// passing, or the shard did not know its own metadata. A shard that names the
// version it wants knows of a change that the phase does not.
func retry(err error) bool {
	code, ok := mongoerr.CodeOf(err)
	if !ok {
		return false
	}
	if code == mongoerr.StaleConfig {
		return !mongoerr.HasExtra(err, "vWanted")
	}
	return slices.Contains(retriable, code)
}

// pendingDeletion reports whether a migration failed because the recipient has
// still to delete what it gave away of the range.
func pendingDeletion(err error) bool {
	return mongoerr.Is(err, mongoerr.OperationFailed) && strings.Contains(err.Error(), "ExceededTimeLimit")
}
