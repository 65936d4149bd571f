package forecast_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
)

// outlined returns the cluster with the outlines of what is settled, and how much that is.
func outlined(s, judged *catalog.Snapshot) (next *catalog.Snapshot, n int) {
	next = s
	for _, c := range s.Collections() {
		if diagnosis.IsSettled(judged, c) {
			next, n = next.WithCollection(c.WithOutline()), n+1
		}
	}
	return next, n
}

// A forecast for a cluster of which settled collections have outlines alone is that with all
// their routing tables.
func TestOutlinesAreEnough(t *testing.T) {
	settled, moves := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := snaptest.DrawAgedSnapshot(t)
		o := forecast.Options{Seed: rapid.Uint64Range(0, 3).Draw(t, "seed")}
		o.Goal.Kind = rapid.SampledFrom([]plan.GoalKind{plan.Balance, plan.Drain, plan.Zones}).Draw(t, "goal")
		judged := s
		if o.Goal.Kind == plan.Drain {
			o.Goal.Shard = "s01"
			shard, _ := s.Shard("s01")
			shard.Draining = true
			judged = s.WithShard(shard)
		}
		less, n := outlined(s, judged)
		want, err := forecast.Make(s, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := forecast.Make(less, o)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("with outlines\n%+v\nwith all tables\n%+v", got, want)
		}
		settled, moves = settled+n, moves+got.Moves
	})
	if settled == 0 || moves == 0 {
		t.Errorf("%d settled collections, %d moves: nothing was compared", settled, moves)
	}
}
