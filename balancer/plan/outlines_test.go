package plan_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
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

// A plan of a cluster of which settled collections have outlines alone is that with all their
// routing tables.
func TestOutlinesAreEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	settled, steps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := snaptest.DrawAgedSnapshot(t)
		o := plan.Options{Seed: rapid.Uint64Range(0, 3).Draw(t, "seed")}
		o.Goal.Kind = rapid.SampledFrom([]plan.GoalKind{plan.Balance, plan.Drain, plan.Zones, plan.Consolidate}).Draw(t, "goal")
		judged := s
		if o.Goal.Kind == plan.Drain {
			o.Goal.Shard = "s01"
			shard, _ := s.Shard("s01")
			shard.Draining = true
			judged = s.WithShard(shard)
		}
		less, n := outlined(s, judged)
		want, err := json.Marshal(mustMake(t, s, o))
		if err != nil {
			t.Fatal(err)
		}
		made := mustMake(t, less, o)
		got, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("with outlines\n%s\nwith all tables\n%s", got, want)
		}
		settled, steps = settled+n, steps+len(made.Steps)
	})
	if settled == 0 || steps == 0 {
		t.Errorf("%d settled collections, %d steps: nothing was compared", settled, steps)
	}
}
