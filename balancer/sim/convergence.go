package sim

import (
	"fmt"
	"time"
)

// A converging balancer moves each piece of data only a few times: off a shard, into a zone, and to even
// out sizes. A run with more moves than this limit does not converge.
const (
	movesPerPiece = 16
	baseMoveLimit = 10_000
)

// NotConvergingError is returned if the balancer moves chunks back and forth and never converges.
type NotConvergingError struct {
	Moves  int
	Pieces int64     // number of initial chunks plus the data size in chunk sizes
	At     time.Time // simulated time
}

func (e *NotConvergingError) Error() string {
	return fmt.Sprintf("the simulated balancer does not converge: %d moves for %d chunks until %s. "+
		"Compare shards, zones and chunks with what you expect (shardsh check), and report it with a snapshot",
		e.Moves, e.Pieces, e.At.UTC().Format(time.RFC3339))
}

// countPieces returns the approximate maximum number of chunks.
func (c *cluster) countPieces() (n int64) {
	for _, coll := range c.orderedCollections {
		if coll.isOutlineOnly() {
			continue
		}
		n += int64(coll.chunks.Table().Len())
		size := coll.entry.ChunkSize(c.settings)
		for _, bytes := range coll.ownedBytes {
			n += bytes / max(1, size)
		}
	}
	return n
}

// failIfNotConverging reports whether a run has made more moves than a converging run can make, and ends it
// with an error if so.
func (r *Run) failIfNotConverging() bool {
	if moves := r.cluster.committedMoves; int64(moves) > baseMoveLimit+movesPerPiece*r.movablePieces {
		r.err = &NotConvergingError{moves, r.movablePieces, r.Now()}
	}
	return r.err != nil
}
