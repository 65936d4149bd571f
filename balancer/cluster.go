package balancer

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Cluster is what the exchanges of a loop (Call) talk to: all that the engine
// needs of a sharded cluster, except long-running operations. It is composed of the
// small interfaces that are declared beside the code which uses them. Failures
// carry the server's code (mongoerr) where the engine decides on it.
//
// A driver that runs a loop needs a Cluster and one of the two ways to begin
// a long operation: an EventCluster starts it, a SharedCluster waits for it.
type Cluster interface {
	Reader
	Splitter
	EventLog
	DefragmentationStore
}

// EventCluster is a Cluster whose migrations and actions take virtual time:
// they are started, and done is called, once, by an event of the queue. The
// EventDriver needs one.
type EventCluster interface {
	Cluster
	StartMove(m policy.Migration, done func(error))
	StartAction(a policy.StreamAction, done func(policy.ActionResult))
}

// SharedCluster is a Cluster that several goroutines use at once, each of which
// waits for what it asked for. Run needs one.
type SharedCluster interface {
	Mover
	// With gives the cluster to one exchange, which ends before With returns.
	// It is the one point that every exchange passes: a cluster that needs a
	// lock for them takes it here.
	With(exchange func(Cluster))
}

// MachineIDs is a Cluster whose nodes tell the numbers that they put into the
// ObjectIds they make: no two shards should have the same. A round begins with
// that check where the Cluster is one (rules/01-rounds-and-settings §1.4).
type MachineIDs interface {
	// MachineID returns tells = false if the shard does not report its number.
	MachineID(ctx context.Context, id catalog.ShardID) (number int64, tells bool, err error)
	// MachineIDsDiffer reports that all shards answer and no two have the same number,
	// if that is known without asking each of them.
	MachineIDsDiffer(ctx context.Context) bool
	// ResetMachineID lets the shard draw another number.
	ResetMachineID(ctx context.Context, id catalog.ShardID) error
}

// RoundLock is the lock "balancer" of config.locks, for clusters of releases
// whose routers take it for each round (rules/01-selection §9.5). A Cluster that also is
// one is asked for it there.
type RoundLock interface {
	// LockRound is false while somebody else holds the lock.
	LockRound(ctx context.Context) (bool, error)
	UnlockRound(ctx context.Context) error
}
