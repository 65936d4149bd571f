package apply

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Cluster is the access to a sharded cluster that the execution of a plan needs. Several goroutines may
// use it at once.
type Cluster interface {
	SnapshotReader
	// Chunks returns the chunks of a collection that overlap [lower, upper), in key order; two zero
	// keys mean all chunks.
	Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error)
	// Cuts asks the donor for the split points of a range that is too large to be moved at once. It
	// returns no points if all documents of the range have one key. Only routers from 6.0 on support
	// it.
	Cuts(ctx context.Context, c Command) ([]catalog.Key, error)
	// RangeSize asks the donor for the size of a range, as far as the averages of the donor allow an
	// estimate.
	RangeSize(ctx context.Context, c Command) (RangeAmount, error)
	// MovedAmount returns the amount that a finished move has moved, as the donor has counted it.
	MovedAmount(ctx context.Context, c Command) (RangeAmount, error)
	// Do sends one command and waits for its end.
	Do(ctx context.Context, c Command) error
	// SetBalancing switches the balancing of collections on or off.
	SetBalancing(ctx context.Context, namespaces []string, on bool) error
}

// SnapshotReader reads the state of a cluster.
type SnapshotReader interface {
	// Snapshot reads the cluster's id and time, the balancer's settings and state, the shards, and the
	// entries and zones of some collections, without their chunks.
	Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error)
}

// Command is one command of a mongos.
type Command struct {
	Kind      plan.StepKind
	Namespace string
	Pattern   catalog.KeyPattern
	// Min and Max are the bounds of a move or merge. From 6.0 on, a move may be for a part of a chunk.
	Min, Max catalog.Key
	// Point is the split point.
	Point catalog.Key
	// From and To are the shards of a move.
	From, To catalog.ShardID
	// ChunkSize is the chunk size of the collection.
	ChunkSize int64
	// DonorChoosesEnd lets the donor choose the upper bound of a move, at Max or earlier, so that it
	// moves about one chunk size. Max is then the upper bound of the chunk. It requires 6.0.
	DonorChoosesEnd bool
	// Halve lets the donor split the chunk from Min to Max at its median.
	Halve bool
	// ExpectedBounds contains the expected end of a move with DonorChoosesEnd, or the expected points of a
	// split without Point.
	ExpectedBounds []catalog.Key
	// Force moves a chunk that is too large to be moved otherwise, and blocks writes to the collection
	// during the move.
	Force bool
	// Settings are the settings of the cluster, which say how moves wait for range deletions and
	// secondaries.
	Settings catalog.Settings
}

// RangeAmount is the amount that was moved, or the amount in a range.
type RangeAmount struct {
	// Min and Max are the bounds; Max is zero if it is not known.
	Min, Max catalog.Key
	// Documents and Bytes are the counted amounts. Counted says whether the amounts were counted.
	Documents, Bytes int64
	Counted          bool
}

// Clock tells the time, and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or for the end of ctx, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}
