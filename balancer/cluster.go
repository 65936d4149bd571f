package balancer

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Cluster is what the engine needs of a sharded cluster. Failures carry the
// server's code (mongoerr) where the engine decides on it.
type Cluster interface {
	// Setting reads one document of config.settings; nil without an error when
	// there is none (spec 01 §2.1).
	Setting(ctx context.Context, id string) (bson.Raw, error)

	// Shards lists config.shards in catalog order. The engine shuffles. For
	// releases that limit shards, those with a limit have SizeMB filled in.
	Shards(ctx context.Context) ([]catalog.Shard, error)

	// Collections lists the sharded collections by namespace; unsplittable
	// ones are left out.
	Collections(ctx context.Context) ([]catalog.Collection, error)

	// Routing gives the current routing table and zones of a collection.
	// NamespaceNotFound when it is gone.
	Routing(ctx context.Context, ns string) (Routing, error)

	// DataSizes asks every shard for the bytes it owns of each collection,
	// orphans excluded (spec 01 §3.2). A shard that does not exist any more is
	// left out of the maps; any other failing shard fails the call.
	DataSizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error)

	// Unsharded lists the collections that are not sharded and may move: no
	// views, nothing of admin, config and local. It is asked only while
	// Parameters.RandomMigrations is on.
	Unsharded(ctx context.Context) ([]policy.Unsharded, error)

	// Split asks the owning shard to split a chunk (spec 01 §5.3).
	Split(ctx context.Context, s policy.Split) error

	// Move runs one migration to its end (spec 01 §1.6). It blocks. One with
	// ReasonUnsharded moves a whole collection that is not sharded.
	Move(ctx context.Context, m policy.Migration) error

	// SplitPoint asks the owner of the chunk containing the migration's lower
	// bound for one split point of the whole chunk (spec 01 §10.1): the chunk,
	// and the point, which is zero when there is none.
	SplitPoint(ctx context.Context, m policy.Migration) (policy.Split, error)

	// MarkJumbo flags the chunk with this lower bound, without a new version.
	MarkJumbo(ctx context.Context, ns string, min catalog.Key) error

	// SwitchOffBalancing sets noBalance in the entry of a collection (spec 01
	// §1.6).
	SwitchOffBalancing(ctx context.Context, ns string) error

	// LogAction writes one entry of config.actionlog.
	LogAction(ctx context.Context, what string, details bson.D) error

	// LogChange writes one entry of config.changelog about the balancer itself,
	// with an empty namespace and empty details.
	LogChange(ctx context.Context, what string) error

	// Act runs one streaming action to its end (spec 02 §4.2). It blocks.
	Act(ctx context.Context, a policy.Action) policy.ActionResult

	// Mergeable lists, by shard in ascending order, the collections the
	// auto-merger may work on that have a chunk old enough there (spec 02 §3.3).
	Mergeable(ctx context.Context) ([]policy.MergeWork, error)

	// SetEstimate stores the measured size with the chunk that has exactly
	// these bounds; an error when there is none.
	SetEstimate(ctx context.Context, ns string, uuid bson.Binary, m policy.Measurement) error

	// SetDefragmentationPhase stores the phase with the collection; an error
	// when the collection is gone.
	SetDefragmentationPhase(ctx context.Context, ns string, uuid bson.Binary, phase policy.PhaseName) error

	// EndDefragmentation removes the phase and the flag from the collection and
	// the estimates from its chunks.
	EndDefragmentation(ctx context.Context, ns string, uuid bson.Binary) error
}

// EventCluster is a Cluster whose migrations and actions take virtual time:
// they are started, and done is called, once, by an event of the queue.
type EventCluster interface {
	Cluster
	StartMove(m policy.Migration, done func(error))
	StartAction(a policy.Action, done func(policy.ActionResult))
}

// MachineIDs is a Cluster whose nodes tell the numbers that they put into the
// ObjectIds they make: no two shards should have the same. A round begins with
// that check where the Cluster is one (spec 01 §1.4).
type MachineIDs interface {
	// MachineID is false when the shard does not tell its number.
	MachineID(ctx context.Context, id catalog.ShardID) (number int64, tells bool, err error)
	// ResetMachineID lets the shard draw another number.
	ResetMachineID(ctx context.Context, id catalog.ShardID) error
}

// RoundLock is the lock "balancer" of config.locks, for clusters of releases
// whose routers take it for each round (spec 01 §9.5). A Cluster that also is
// one is asked for it there.
type RoundLock interface {
	// LockRound is false while somebody else holds the lock.
	LockRound(ctx context.Context) (bool, error)
	UnlockRound(ctx context.Context) error
}

// Routing is a collection as the catalog has it at one moment.
type Routing struct {
	Collection catalog.Collection
	Table      *catalog.RoutingTable
	Zones      *catalog.ZoneSet
}
