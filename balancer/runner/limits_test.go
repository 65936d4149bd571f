package runner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/runner"
)

// lumpy has all on a in a few chunks, most of it in few small ranges of keys; the chunk
// size is 1 MiB.
func lumpy(t *testing.T, r *rand.Rand, release catalog.Release) *world {
	const fine, whole = 40, 10
	var chunks []string
	for i := range fine {
		documents := min(12_000, 40*int(math.Exp(3*r.NormFloat64())))
		upper := ""
		if i < fine-1 {
			upper = fmt.Sprintf(`, "max": {"x": %d}`, 100_000*(i+1))
		}
		chunks = append(chunks, fmt.Sprintf(`{"shard": "a", "bytes": %d, "docs": %d%s}`, 1024*documents, documents, upper))
	}
	w := newWorld(t, `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [`+strings.Join(chunks, ",")+`]}]}`,
		release, 1)
	bound := func(i int) bson.D {
		var x any = 100_000 * i
		if i == 0 {
			x = bson.MinKey{}
		} else if i == fine {
			x = bson.MaxKey{}
		}
		return bson.D{{Key: "x", Value: x}}
	}
	for i := 0; i < fine; i += whole {
		w.command(bson.D{{Key: "mergeChunks", Value: "db.c"}, {Key: "bounds", Value: bson.A{bound(i), bound(i + whole)}}})
	}
	return w
}

// What a run has moved is what the donors have counted, and no limit of bytes is passed by
// more than one chunk, however many moves are under way.
func TestLimitOfBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	stopped := 0
	for seed := range uint64(24) {
		release := []catalog.Release{catalog.Release60, catalog.Release70, catalog.Release80}[seed%3]
		r := rand.New(rand.NewPCG(seed, 24))
		w := lumpy(t, r, release)
		o := w.options("db.c")
		o.Parallel = 1 + r.IntN(3)
		limit := int64(1+r.IntN(6)) << 20
		o.Gate = pace.NewGate(pace.Rules{MaxBytes: limit}, o.Clock)
		result, err := runner.Run(t.Context(), w.free(), o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if result.Stopped != "" {
			stopped++
		}
		var bytes, largest int64
		cursor, err := w.client.Database("config").Collection("changelog").Find(t.Context(),
			bson.D{{Key: "what", Value: "moveChunk.commit"}})
		if err != nil {
			t.Fatal(err)
		}
		moves := 0
		for cursor.Next(t.Context()) {
			n := cursor.Current.Lookup("details", "counts", "clonedBytes").Int64()
			moves, bytes, largest = moves+1, bytes+n, max(largest, n)
		}
		if bytes > limit+largest {
			t.Errorf("seed %d: %d bytes were moved, the limit is %d, the largest move %d", seed, bytes, limit, largest)
		}
		if result.Done.Bytes != bytes || result.Done.Moves != moves {
			t.Errorf("seed %d: the result says %+v, and it were %d moves and %d bytes", seed, result.Done, moves, bytes)
		}
	}
	if stopped < 6 {
		t.Errorf("only %d runs were stopped at their limit", stopped)
	}
}
