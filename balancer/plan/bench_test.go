package plan_test

import (
	"runtime"
	"testing"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/plan"
)

// A plan for a million chunks on a hundred shards, two of which are new.
func BenchmarkMillionChunks(b *testing.B) {
	scale := snaptest.Million()
	scale.Empty, scale.Jumbo = 2, 1000
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
