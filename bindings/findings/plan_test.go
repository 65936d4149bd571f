package findings

import (
	"strings"
	"testing"
	"time"

	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// Work that comes in hundreds is one line: the splits and moves of the sessions collection of
// old releases, splits and merges of one collection on one shard.
func TestPlanGathersMassWork(t *testing.T) {
	p := &plan.Plan{Goal: plan.Goal{Kind: plan.Balance}, ReachesGoal: true}
	add := func(n int, s plan.Step) {
		for range n {
			s.Number = len(p.Steps) + 1
			s.Round = s.Number
			p.Steps = append(p.Steps, s)
		}
	}
	add(1, plan.Step{Kind: plan.Split, Namespace: policy.SessionsNamespace, From: "a"})
	add(682, plan.Step{Kind: plan.Move, Namespace: policy.SessionsNamespace, From: "a", To: "b",
		Reason: policy.ReasonChunksImbalance})
	add(300, plan.Step{Kind: plan.Merge, Namespace: "shop.orders", From: "a"})
	add(2, plan.Step{Kind: plan.Merge, Namespace: "shop.orders", From: "b"})
	add(2, plan.Step{Kind: plan.Move, Namespace: "shop.orders", From: "a", To: "b", Bytes: 1 << 20,
		Reason: policy.ReasonDrain, Why: "Because."})
	for detail, want := range map[PlanDetail][]string{
		{}: {"1  split  config.system.sessions  a", "2-683  move   config.system.sessions            0 B  chunksImbalance  682 moves",
			"684-983  merge  shop.orders             a                               300 merges", "984-985", "986  move", "987  move"},
		{Why: true}: {"682 moves", "987  move", "            Because."},
		{All: true}: {"step  round  what", "683    683  move", "985    985  merge", "987    987  move"},
	} {
		text := PlanText(p, detail)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%+v: no %q in\n%.3000s", detail, part, text)
			}
		}
		if n := strings.Count(text, "\n"); !detail.All && n > 40 {
			t.Errorf("%+v: %d lines", detail, n)
		}
	}
}

// Steps that share a line may have different reasons.
func TestPlanShowsReasonsOfALine(t *testing.T) {
	p := &plan.Plan{Goal: plan.Goal{Kind: plan.Balance}, ReachesGoal: true}
	for i, why := range []string{"First.", "Second.", "First.", "Third.", "Fourth.", "Fifth."} {
		p.Steps = append(p.Steps, plan.Step{Number: i + 1, Kind: plan.Merge, Namespace: "shop.orders", From: "a", Why: why})
	}
	text := PlanText(p, PlanDetail{Why: true})
	const want = "6 merges\n            First.\n            Second.\n            Third.\n            … 2 more: --all,"
	if !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// A plan's time is that of copying: a forecast of the same moves has the waits too, such as
// for a recipient's deletions, and is longer.
func TestPlanTimeLeavesWaitsOut(t *testing.T) {
	p := &plan.Plan{ReachesGoal: true, Steps: []plan.Step{{Number: 1, Kind: plan.Move, Namespace: "shop.orders"}}}
	p.Totals.Moves, p.Totals.Duration = 1, 8*time.Second
	if text := strings.Join(strings.Fields(PlanText(p, PlanDetail{})), " "); !strings.Contains(text, "8s at 64 MiB/s a migration, waits not counted;") {
		t.Error(text)
	}
}
