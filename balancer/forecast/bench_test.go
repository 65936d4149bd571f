package forecast_test

import (
	"testing"
	"time"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/forecast"
)

// A hundred shards that begin with all data on ten of them: 180,000 moves.
func BenchmarkManyMoves(b *testing.B) {
	s := measured(snaptest.SnapshotOfChunks(b, 100, 200_000, func(i int) (int, int64) { return i % 10, 100 << 20 }), 2000, 5*time.Second)
	moves := 0
	for b.Loop() {
		f, err := forecast.Make(s, forecast.Options{})
		if err != nil {
			b.Fatal(err)
		}
		moves = f.Moves
	}
	b.ReportMetric(float64(moves), "moves")
}
