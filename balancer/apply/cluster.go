package apply

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Cluster is a sharded cluster as far as carrying out a plan needs it. Several
// goroutines may use it at once.
type Cluster interface {
	Looker
	// Chunks returns the chunks of a collection that overlap [lower, upper), in key
	// order; two zero keys stand for all of them.
	Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error)
	// Cuts asks the donor where to cut a range that is too large to be moved at once.
	// It returns none where all of it has one key. Only routers from 6.0 on ask.
	Cuts(ctx context.Context, c Command) ([]catalog.Key, error)
	// Size asks the donor how much a range holds, as far as its averages say.
	Size(ctx context.Context, c Command) (Moved, error)
	// Moved returns what a move that is done has moved, as the donor has counted it.
	Moved(ctx context.Context, c Command) (Moved, error)
	// Do sends one command and waits for its end.
	Do(ctx context.Context, c Command) error
	// SetBalancing switches the balancing of collections on or off.
	SetBalancing(ctx context.Context, namespaces []string, on bool) error
}

// Looker looks at a cluster.
type Looker interface {
	// Snapshot reads the cluster's id and time, the balancer's settings and state, the
	// shards, and of some collections the entries and zones, without chunks.
	Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error)
}

// Command is one command of a mongos.
type Command struct {
	Kind      plan.Kind
	Namespace string
	Pattern   catalog.KeyPattern
	// Min and Max are the bounds of what moves or is merged. Since 6.0 what moves
	// may be a part of a chunk.
	Min, Max catalog.Key
	// Point is where a split cuts.
	Point catalog.Key
	// From and To are a move's shards.
	From, To catalog.ShardID
	// MaxBytes is the chunk size of the collection.
	MaxBytes int64
	// DonorChoosesEnd leaves it to the donor where a move ends, at Max or before: at about one chunk
	// size. Max is the upper bound of the chunk then. From 6.0 on.
	DonorChoosesEnd bool
	// Halve has the donor split the chunk from Min to Max at its median.
	Halve bool
	// Expected is where an open move is expected to end, or an open split to cut.
	Expected []catalog.Key
	// Force moves what is too large to be moved otherwise, and blocks writes meanwhile.
	Force bool
	// Settings are those of the cluster: how moves wait for deletes and secondaries.
	Settings catalog.Settings
}

// Moved is what was moved, or a range holds.
type Moved struct {
	// Min and Max are its bounds; Max is zero where it is not known.
	Min, Max catalog.Key
	// Documents and Bytes are as they were counted. Counted says whether anybody did.
	Documents, Bytes int64
	Counted          bool
}

// Clock tells the time, and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or for the end of ctx, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}
