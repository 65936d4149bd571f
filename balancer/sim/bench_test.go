package sim_test

import (
	"runtime"
	"testing"
	"time"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/sim"
)

// A day of a hundred shards that begin with all data on ten of them: the moves
// of a saturated balancer.
func BenchmarkSaturatedDay(b *testing.B) {
	s := snaptest.SnapshotOfChunks(b, 100, 200_000, func(i int) (int, int64) { return i % 10, 100 << 20 })
	runtime.GC()
	var before, after runtime.MemStats
	moves, peak := 0, uint64(0)
	for b.Loop() {
		runtime.ReadMemStats(&before)
		r, err := sim.New(s, sim.Config{Location: time.UTC})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for e := range r.Events(s.Time().Add(24 * time.Hour)) {
			if e.Kind == sim.Moved {
				n++
			}
		}
		runtime.ReadMemStats(&after)
		peak = max(peak, after.HeapAlloc)
		moves += n
		r.Close()
	}
	b.ReportMetric(float64(moves)/float64(b.N), "moves/op")
	b.ReportMetric(float64(peak)/(1<<20), "heap-MiB")
}
