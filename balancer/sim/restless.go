package sim

import (
	"cmp"
	"fmt"
	"time"
)

// A balancer that comes to rest moves each piece of data a few times at most: off a shard, into a
// zone, and to even out. So many moves a piece, and so many besides, are no plan any more.
const (
	movesAPiece = 16
	movesAnyway = 10_000
)

// RestlessError is that the balancer moves chunks to and fro and never comes to rest.
type RestlessError struct {
	Moves  int
	Pieces int64     // chunks at the start, and the chunk sizes that the data fills
	At     time.Time // the run's time
}

func (e *RestlessError) Error() string {
	return fmt.Sprintf("the simulated balancer does not come to rest: %d moves for %d chunks, until %s. "+
		"Compare shards, zones and chunks with what you expect (shardsh check), and report it with a snapshot",
		e.Moves, e.Pieces, e.At.UTC().Format(time.RFC3339))
}

// piecesOf is how many chunks there can be, about.
func (c *cluster) piecesOf() (n int64) {
	for _, coll := range c.order {
		if coll.settled() {
			continue
		}
		n += int64(coll.chunks.Table().Len())
		size := cmp.Or(coll.entry.MaxChunkSizeBytes, c.settings.MaxChunkSizeBytes)
		for _, bytes := range coll.bytes {
			n += bytes / max(1, size)
		}
	}
	return n
}

// restless reports whether a run has moved more than one that comes to rest can, and ends it.
func (r *Run) restless() bool {
	if moves := r.cluster.moves; int64(moves) > movesAnyway+movesAPiece*r.pieces {
		r.err = &RestlessError{moves, r.pieces, r.Now()}
	}
	return r.err != nil
}
