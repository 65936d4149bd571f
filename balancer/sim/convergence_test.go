package sim

import (
	"errors"
	"testing"
	"time"

	"shardsh/balancer/catalog/snaptest"
)

// A run that moves more than one that comes to rest can ends with an error that says so; what goes by
// time alone goes on.
func TestRestless(t *testing.T) {
	const mib = 1 << 20
	s := snaptest.SnapshotOfChunks(t, 4, 40, func(int) (int, int64) { return 0, 100 * mib }) // 30 have to move at least
	for _, c := range []struct {
		name     string
		most     int64 // moves besides those that are usual
		restless bool
	}{{"as it is", baseMoveLimit, false}, {"as if five moves were too many", 5, true}} {
		r, err := New(s, Config{Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		if r.movablePieces < 40 || r.movablePieces > 40+4000/128 {
			t.Errorf("%s: %d pieces", c.name, r.movablePieces)
		}
		r.movablePieces = (c.most - baseMoveLimit) / movesPerPiece
		moves := 0
		for e := range r.EventsToRest(s.Time().Add(24 * time.Hour)) {
			if e.Kind == Moved {
				moves++
			}
		}
		var endless *NotConvergingError
		if is := errors.As(r.Err(), &endless); is != c.restless || is && (endless.Moves != r.cluster.committedMoves || moves > 20) {
			t.Errorf("%s: %d moves, %v", c.name, moves, r.Err())
		}
		if !c.restless && (moves < 20 || !r.AtRest()) {
			t.Errorf("%s: %d moves", c.name, moves)
		}
		r.Close()
	}
}
