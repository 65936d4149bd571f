package action

import (
	"errors"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/mock/workload"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
	"shardsh/balancer/whatif"
)

// What a forecast and a simulation say of the goal load is what a run would do: two thirds of the
// load lie on one shard of three, and as many chunks move away.
func TestForecastAndSimulationOfLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	w := loaded(t, 3, 8, workload.Spec{Rate: 5000, KeyDistribution: "hot 10% 70%", Mix: workload.Mix{Reads: 60, Updates: 40}}, 50)
	source := Source{Client: w.client, Clock: w.cluster.Clock()}
	goal := plan.Goal{Kind: plan.Load, Namespaces: []string{"shop.orders"}}
	f, err := Forecast{Goal: goal}.Run(t.Context(), source, nil)
	if err != nil || f.Never || f.Done || f.Moves == 0 || f.Low > f.Likely || f.Likely > f.High || f.Low < 2*60e9 {
		t.Fatalf("%+v, %v", f, err)
	}
	change, err := whatif.ParseChanges("goal load")
	if err != nil {
		t.Fatal(err)
	}
	more, err := whatif.ParseChanges("addShard 2; goal load reads")
	if err != nil {
		t.Fatal(err)
	}
	out, err := Simulate{Alternatives: []whatif.Alternative{{Changes: change}, {Changes: more}}}.Run(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	asIs, same, grown := out.Alternatives[0].Plan, out.Alternatives[1].Plan, out.Alternatives[2].Plan
	if asIs.Load != nil || same.Load.Before < 1.9 || same.Load.After > 1.10 || !same.ReachesGoal || same.Goal.LoadKind != "" {
		t.Errorf("as it is %+v, with the goal %+v", asIs.Load, same.Load)
	}
	if grown.Load.Before < same.Load.Before*1.4 || grown.Load.After > 1.10 || grown.Goal.LoadKind != heat.ByReads {
		t.Errorf("with two more shards %+v", grown.Load)
	}
	received := map[catalog.ShardID]bool{}
	for _, s := range grown.Steps {
		received[s.To] = true
	}
	for _, shard := range grown.Shards {
		if shard.Before.Chunks == 0 && !received[shard.Shard] {
			t.Errorf("%s is new, and gets nothing", shard.Shard)
		}
	}
	dry, err := Balance{Namespaces: []string{"shop.orders"}, Goal: runner.GoalLoad, DryRun: true,
		Pace: Pace{Parallel: 1}}.Run(t.Context(), w.actionCluster(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// Samples are other ones by now, and most of them the same.
	if moves := dry.Heat.moves(); moves < f.Moves-1 || moves > f.Moves+1 || moves < same.Totals.Moves-1 ||
		moves > same.Totals.Moves+1 {
		t.Errorf("a run makes %d moves, the forecast has %d, the simulation %d", moves, f.Moves, same.Totals.Moves)
	}
}

func (p HeatPlan) moves() (n int) {
	for _, s := range p.Steps {
		if s.Point == "" {
			n++
		}
	}
	return n
}

// The goal load is refused where nobody can know the load, and as a plan to carry out.
func TestGoalLoadIsRefused(t *testing.T) {
	w := loaded(t, 3, 2, workload.Spec{Rate: 100, KeyDistribution: "uniform"}, 0)
	goal := plan.Goal{Kind: plan.Load}
	if _, err := (Forecast{Goal: goal}).Run(t.Context(), Source{Client: w.client, Clock: w.cluster.Clock()}, nil); !errors.Is(
		err, runner.ErrNoSamples) {
		t.Errorf("without samples: %v", err)
	}
	file := Source{Snapshot: w.snapshot()}
	if _, err := (Forecast{Goal: goal}).Run(t.Context(), file, nil); !errors.As(err, new(*OptionError)) {
		t.Errorf("of a file: %v", err)
	}
	change, err := whatif.ParseChanges("goal load")
	if err != nil {
		t.Fatal(err)
	}
	simulate := Simulate{Alternatives: []whatif.Alternative{{Changes: change}}}
	if _, err := simulate.Run(t.Context(), file, nil); !errors.As(err, new(*OptionError)) {
		t.Errorf("a simulation of a file: %v", err)
	}
	if err := (Plan{Goal: goal}).Validate(); err == nil || !strings.Contains(err.Error(), "can't be planned ahead") {
		t.Errorf("a plan: %v", err)
	}
	for _, text := range []string{"goal", "goal balance", "goal load bytes", "goal drain s1"} {
		if _, err := whatif.ParseChanges(text); err == nil {
			t.Errorf("%q is a change", text)
		}
	}
}
