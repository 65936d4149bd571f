package plan_test

import (
	"runtime"
	"testing"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/plan"
)

// Plans for a hundred shards, two of which are new: of a million chunks, and of a
// thousand collections, each of which has something to give to the new ones.
func BenchmarkLarge(b *testing.B) {
	million := snaptest.Million()
	million.EmptyShards, million.JumboEvery = 2, 1000
	crowd := snaptest.Scale{Shards: 100, Chunks: 400_000, Collections: 1000, SameChunkCounts: true, ChunkBytes: 128 << 20, EmptyShards: 2}
	b.Run("chunks", func(b *testing.B) { makePlans(b, million) })
	b.Run("collections", func(b *testing.B) { makePlans(b, crowd) })
}

func makePlans(b *testing.B, scale snaptest.Scale) {
	s := snaptest.Large(b, scale)
	runtime.GC()
	b.ReportAllocs()
	for b.Loop() {
		p, err := plan.Make(s, plan.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(p.Steps)), "steps")
	}
}
