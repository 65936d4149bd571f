package balancer

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Cluster contains everything that the engine needs of a sharded cluster, except long-running
// operations. The calls of a loop (Call) get one. It is composed of the small interfaces that are
// declared beside the code that uses them. Errors carry the server's code (mongoerr) where the engine
// decides by the code.
//
// A driver that runs a loop needs a Cluster and one of two ways to run a long operation: an
// EventCluster starts the operation, a ConcurrentCluster waits for its end.
type Cluster interface {
	Reader
	Splitter
	EventLog
	DefragmentationStore
}

// EventCluster is a Cluster whose migrations and actions take virtual time: a call starts the
// operation, and an event of the queue calls done once at its end. The EventDriver needs an
// EventCluster.
type EventCluster interface {
	Cluster
	StartMove(m policy.Migration, done func(error))
	StartAction(a policy.StreamAction, done func(policy.StreamActionResult))
}

// ConcurrentCluster is a Cluster that several goroutines use at once. Each goroutine waits for the end of
// its own operation. Run needs a ConcurrentCluster.
type ConcurrentCluster interface {
	Mover
	// WithCluster calls exchange with the cluster and returns when exchange has returned. Every exchange goes
	// through With: a cluster that needs a lock for its exchanges takes the lock here.
	WithCluster(exchange func(Cluster))
}

// MachineIDs is implemented by a Cluster whose nodes report the numbers that they put into the
// ObjectIds they generate. No two shards should have the same number. For such a Cluster a round begins
// with that check (rules/01-rounds-and-settings §1.4).
type MachineIDs interface {
	// MachineID returns known = false if the shard does not report its number.
	MachineID(ctx context.Context, id catalog.ShardID) (number int64, known bool, err error)
	// MachineIDsKnownUnique reports whether it is known, without a command to each shard, that all shards
	// answer and that no two of them have the same number.
	MachineIDsKnownUnique(ctx context.Context) bool
	// ResetMachineID lets the shard draw another number.
	ResetMachineID(ctx context.Context, id catalog.ShardID) error
}

// RoundLock is the lock "balancer" of config.locks, for clusters of releases whose routers take it for
// each round (rules/01-selection §9.5). The engine takes the lock if the Cluster implements RoundLock.
type RoundLock interface {
	// LockRound returns false while another process holds the lock.
	LockRound(ctx context.Context) (bool, error)
	UnlockRound(ctx context.Context) error
}
