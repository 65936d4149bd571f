package balancer_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
)

func hundredShards(draining int) []catalog.Shard {
	var shards []catalog.Shard
	for i := range 100 {
		shards = append(shards, catalog.Shard{ID: catalog.ShardID(fmt.Sprintf("s%02d", i)), Host: "rs/h:1", Draining: i < draining})
	}
	return shards
}

// peak is the most memory that was in use on the heap when it was looked at.
type peak uint64

// look is for every simulated minute: it costs about a microsecond.
func (p *peak) look() {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	*p = max(*p, peak(sample[0].Value.Uint64()))
}

// reportRun adds what a simulated run did each second, and its memory.
func reportRun(b *testing.B, decisions int, most peak) {
	b.Helper()
	b.ReportMetric(float64(decisions)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(float64(most)/mib, "peak-MiB")
}

// Five of a hundred shards are emptied: 50,000 of a million chunks move.
func BenchmarkDrain(b *testing.B) {
	decisions, most := 0, peak(0)
	for b.Loop() {
		b.StopTimer()
		runtime.GC() // what the benchmark before left does not count
		s := simulate(b, hundredShards(5), 1_000_000, func(i int) (catalog.ShardID, int64) {
			return catalog.ShardID(fmt.Sprintf("s%02d", i*7919%100)), 100 * mib
		})
		s.onMinute = most.look
		b.StartTimer()
		s.start(b, balancer.Config{})
		if !s.rest(60 * 24 * time.Hour) {
			b.Fatal("no rest")
		}
		if s.coll.table.CountOn("s00")+s.coll.table.CountOn("s04") > 0 {
			b.Fatal("the shards are not empty")
		}
		decisions += s.moved
	}
	reportRun(b, decisions, most)
}

// A million chunks of 1 MiB become chunks that are not small.
func BenchmarkDefragmentation(b *testing.B) {
	decisions, most := 0, peak(0)
	for b.Loop() {
		b.StopTimer()
		runtime.GC() // what the benchmark before left does not count
		s := simulate(b, hundredShards(0), 1_000_000, func(i int) (catalog.ShardID, int64) {
			return catalog.ShardID(fmt.Sprintf("s%02d", i/10*7919%100)), mib
		})
		s.coll.entry.Defragment = true
		s.onMinute = most.look
		b.StartTimer()
		s.start(b, balancer.Config{})
		if !s.rest(365 * 24 * time.Hour) {
			b.Fatalf("not at its end: %d chunks, %d moves, %d actions", s.coll.table.Len(), s.moved, s.actions)
		}
		decisions += s.moved + s.actions
	}
	reportRun(b, decisions, most)
}

// A day of a hundred shards that begin with all data on ten of them.
func BenchmarkBalancingDay(b *testing.B) {
	decisions, most := 0, peak(0)
	for b.Loop() {
		b.StopTimer()
		runtime.GC() // what the benchmark before left does not count
		s := simulate(b, hundredShards(0), 200_000, func(i int) (catalog.ShardID, int64) {
			return catalog.ShardID(fmt.Sprintf("s%02d", i%10)), 100 * mib
		})
		s.onMinute = most.look
		b.StartTimer()
		s.start(b, balancer.Config{})
		for range 24 * 60 {
			s.advance(time.Minute)
			most.look()
		}
		decisions += s.moved
	}
	reportRun(b, decisions, most)
}
