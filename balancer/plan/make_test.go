package plan_test

import (
	"errors"
	"strings"
	"testing"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

// Twelve chunks of 128 MiB on the first of three shards. By the rules of 8.0 data
// moves while two shards differ by 3 chunk sizes: from 12/0/0 over 11/1/0 and so on
// to a difference below 3.
func TestBalance(t *testing.T) {
	s := snaptest.SnapshotOf(3, collection(t, "db.c", 3, 128*mib, repeat(0, 12)...))
	p := mustMake(t, s, plan.Options{})
	if !p.ReachesGoal || len(p.Left) > 0 || p.Totals.Moves != len(p.Steps) || p.Totals.Moves == 0 {
		t.Fatalf("reached %v, left %v, totals %+v of %d steps", p.ReachesGoal, p.Left, p.Totals, len(p.Steps))
	}
	for i, step := range p.Steps {
		if step.Number != i+1 || step.Kind != plan.Move || step.From != "s00" || step.Bytes != 128*mib ||
			step.Reason != policy.ReasonChunksImbalance {
			t.Errorf("step %+v", step)
		}
		if !strings.HasPrefix(step.Why, "Shard s00 has ") {
			t.Errorf("step %d: %q", step.Number, step.Why)
		}
	}
	var low, high int64 = 1 << 62, 0
	for _, shard := range p.Shards {
		low, high = min(low, shard.After.Bytes), max(high, shard.After.Bytes)
		if shard.After.Bytes != 128*mib*shard.After.Chunks {
			t.Errorf("%s: %+v", shard.Shard, shard)
		}
	}
	if high-low >= 3*128*mib || p.Shards[0].Before != (plan.Holding{Chunks: 12, Bytes: 12 * 128 * mib}) {
		t.Errorf("shards %+v", p.Shards)
	}
}

// Whoever looks on can end a plan.
func TestWatchEndsAPlan(t *testing.T) {
	stop := errors.New("enough")
	s := snaptest.SnapshotOfChunks(t, 4, 400, func(int) (int, int64) { return 0, 128 << 20 })
	for _, kind := range []plan.GoalKind{plan.Balance, plan.Zones} {
		p, err := plan.Make(s, plan.Options{
			Goal: plan.Goal{Kind: kind}, OnProgress: func(sim.Progress) error { return stop },
		})
		if kind == plan.Balance && (p != nil || !errors.Is(err, stop)) || kind == plan.Zones && err != nil {
			t.Errorf("%s ended with %v, %v", kind, p, err)
		}
	}
}
