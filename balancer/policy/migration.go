package policy

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// SessionsNamespace is the sessions collection, the only one of the config database that is on shards
// (rules/03-catalog-and-keys §3.12). Its zones cause no splits (rules/01-rounds-and-settings §5.1).
const SessionsNamespace = "config.system.sessions"

// Reason is the reason why a range moves (rules/01-selection §6.7), and the part of the selection that
// chose it.
type Reason string

// These are the reasons. The selection checks ReasonDrain, ReasonZoneViolation and ReasonChunksImbalance in
// this order.
const (
	ReasonNone            Reason = "none"
	ReasonDrain           Reason = "drain"
	ReasonZoneViolation   Reason = "zoneViolation"
	ReasonChunksImbalance Reason = "chunksImbalance"
	// ReasonDefragmentation is for moves that bring a small chunk to the shard of an adjacent chunk,
	// with which it is merged. The selection does not choose such moves.
	ReasonDefragmentation Reason = "defragmentation"
	// ReasonUnsharded is for unsharded collections that move as a whole with moveCollection. Such a
	// migration has no bounds.
	ReasonUnsharded Reason = "unshardedCollection"
)

// ForceJumbo tells the donor how to handle a range larger than the limit (rules/01-selection §6.6). A
// chunk with the jumbo flag is never chosen, whatever the value.
type ForceJumbo int

const (
	// ForceNone refuses a large range with ChunkTooBig.
	ForceNone ForceJumbo = iota
	// ForceManual is a command with forceJumbo: true.
	ForceManual
	// ForceBalancer is for drain moves, and for all moves when
	// attemptToBalanceJumboChunks is on.
	ForceBalancer
)

// Migration is one range to move.
type Migration struct {
	From, To  catalog.ShardID
	Namespace string
	UUID      bson.Binary

	// Min is the lower bound of the range. With a zero Max, the donor decides how much it moves
	// (rules/01-selection §6.8).
	Min, Max     catalog.Key
	ChunkVersion catalog.ChunkVersion

	Force             ForceJumbo
	MaxChunkSizeBytes int64
	Reason            Reason
}

// IsTooBig reports whether a migration failed because the range was too big.
func IsTooBig(err error) bool {
	return mongoerr.Is(err, mongoerr.ChunkTooBig) || mongoerr.Is(err, mongoerr.ExceededMemoryLimit)
}
