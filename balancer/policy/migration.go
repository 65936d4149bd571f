package policy

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// SessionsNamespace is the collection whose zones cause no splits
// (rules/01-rounds-and-settings §5.1).
const SessionsNamespace = "config.system.sessions"

// Reason is why a range moves (rules/01-selection §6.7), and the part of the selection
// that chose it.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	ReasonNone            Reason = "none"
	ReasonDrain           Reason = "drain"
	ReasonZoneViolation   Reason = "zoneViolation"
	ReasonChunksImbalance Reason = "chunksImbalance"
	// ReasonDefragmentation is for moves that bring a small chunk beside one it
	// will be merged with; the selection knows nothing of them.
	ReasonDefragmentation Reason = "defragmentation"
	// ReasonUnsharded is for collections that are not sharded and move whole, by
	// moveCollection: such a migration has no bounds.
	ReasonUnsharded Reason = "unshardedCollection"
)

// ForceJumbo tells the donor what to do with a range larger than the limit
// (rules/01-selection §6.6). A chunk flagged jumbo is never chosen, whatever the value.
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

	// Min is where the range begins. A zero Max lets the donor decide how
	// much it moves (rules/01-selection §6.8).
	Min, Max     catalog.Key
	ChunkVersion catalog.ChunkVersion

	Force             ForceJumbo
	MaxChunkSizeBytes int64
	Reason            Reason
}

// IsTooBig reports whether a migration failed because there was too much to move.
func IsTooBig(err error) bool {
	return mongoerr.Is(err, mongoerr.ChunkTooBig) || mongoerr.Is(err, mongoerr.ExceededMemoryLimit)
}
