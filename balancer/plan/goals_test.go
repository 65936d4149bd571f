package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

func goal(kind plan.GoalKind, names ...string) plan.Options {
	return plan.Options{Goal: plan.Goal{Kind: kind, Namespaces: names}}
}

// zoned puts the keys from lower to upper into a zone, to which a shard belongs.
func zoned(t testing.TB, s *catalog.Snapshot, ns, zone string, lower, upper, of int) *catalog.Snapshot {
	t.Helper()
	c := s.Collection(ns)
	zones := catalog.NewZoneSet(c.Pattern)
	for _, r := range append(slices.Clone(c.Zones.Ranges()), catalog.ZoneRange{
		Min: key(t, lower), Max: key(t, upper), Zone: zone,
	}) {
		if err := zones.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if shard, there := s.Shard(snaptest.ShardID(of)); there {
		shard.Zones = append(slices.Clone(shard.Zones), zone)
		s = s.WithShard(shard)
	}
	return s.WithCollection(c.WithZones(zones))
}

// A drain moves all chunks of the shard, and stops when it is empty: the rest stays
// as uneven as the balancer takes it.
func TestDrain(t *testing.T) {
	s := snaptest.SnapshotOf(3, collection(t, "db.c", 3, 16*mib, 0, 0, 1, 0, 2, 2))
	o := goal(plan.Drain)
	o.Goal.Shard = "s02"
	p := mustMake(t, s, o)
	if p.Totals.Moves != 2 || !p.ReachesGoal || p.Shards[2].After != (plan.Holding{}) {
		t.Fatalf("%+v, reached %v, left %v, shards %+v", p.Totals, p.ReachesGoal, p.Left, p.Shards)
	}
	for _, step := range p.Steps {
		if step.From != "s02" || step.To != "s01" || step.Reason != policy.ReasonDrain || step.ForceJumbo {
			t.Errorf("%+v", step)
		}
	}
	if p.Steps[0].Round == p.Steps[1].Round {
		t.Error("a shard gives two chunks in one round")
	}
}

// What a drain does not move is left: a database whose primary is the shard.
func TestDrainLeavesDatabases(t *testing.T) {
	parts := snaptest.SnapshotOf(2, collection(t, "db.c", 2, 16*mib, 0, 1)).Parts()
	parts.Databases = []catalog.Database{{Name: "app", Primary: "s01"}}
	o := goal(plan.Drain)
	o.Goal.Shard = "s01"
	p := mustMake(t, catalog.NewSnapshot(parts), o)
	if p.ReachesGoal || p.Totals.Moves != 1 || len(p.Left) != 1 || p.Left[0].Code != diagnosis.DrainNeedsOperator {
		t.Errorf("reached %v, %+v, left %+v", p.ReachesGoal, p.Totals, p.Left)
	}
}

// Zones are mended, with a split at a boundary inside a chunk, and nothing is evened
// out.
func TestZones(t *testing.T) {
	s := snaptest.SnapshotOf(3, collection(t, "db.c", 3, 128*mib, repeat(0, 12)...))
	s = zoned(t, s, "db.c", "EU", 1500, 3000, 2)
	p := mustMake(t, s, goal(plan.Zones))
	var kinds []plan.StepKind
	for _, step := range p.Steps {
		kinds = append(kinds, step.Kind)
		if step.Kind == plan.Move && (step.To != "s02" || step.Reason != policy.ReasonZoneViolation) {
			t.Errorf("%+v", step)
		}
	}
	if !slices.Equal(kinds, []plan.StepKind{plan.Split, plan.Move, plan.Move}) || !p.ReachesGoal {
		t.Fatalf("%v, reached %v, left %+v", kinds, p.ReachesGoal, p.Left)
	}
	if at := p.Steps[0].Points; len(at) != 1 || !at[0].Equal(key(t, 1500)) ||
		!strings.Contains(p.Steps[0].Why, "boundary of zone EU") {
		t.Errorf("%+v", p.Steps[0])
	}
	if p.Shards[0].After.Chunks != 11 || p.Shards[2].After.Chunks != 2 {
		t.Errorf("%+v", p.Shards)
	}
}

// A zone that no shard belongs to can't be mended, and the plan says so.
func TestZoneWithoutShards(t *testing.T) {
	s := snaptest.SnapshotOf(2, collection(t, "db.c", 2, mib, 0, 1))
	s = zoned(t, s, "db.c", "EU", 0, 500, 99)
	p := mustMake(t, s, goal(plan.Zones))
	if p.ReachesGoal || !slices.ContainsFunc(p.Left, func(f diagnosis.Finding) bool {
		return f.Code == diagnosis.ZoneWithoutShards
	}) {
		t.Errorf("reached %v, left %+v", p.ReachesGoal, p.Left)
	}
}

// Small chunks are merged with those beside them, and moved there first.
func TestDefragment(t *testing.T) {
	s := snaptest.SnapshotOf(2, collection(t, "db.c", 2, mib, 0, 0, 0, 1, 0, 0), collection(t, "db.d", 2, mib, 0, 0))
	p := mustMake(t, s, goal(plan.Defragment, "db.c"))
	chunks := int64(0)
	for _, shard := range p.Shards {
		chunks += shard.After.Chunks
	}
	if chunks != 1 || !p.ReachesGoal || p.Totals.Moves == 0 || p.Totals.Merges == 0 {
		t.Errorf("%d chunks, reached %v, left %+v, %+v", chunks, p.ReachesGoal, p.Left, p.Totals)
	}
}

// Merges without moves: 0 0 0, 1 1 and 0 0 become one each, but for the border of a
// zone between the last two.
func TestConsolidate(t *testing.T) {
	s := snaptest.SnapshotOf(2, collection(t, "db.c", 2, mib, 0, 0, 0, 1, 1, 0, 0))
	p := mustMake(t, s, goal(plan.Consolidate))
	if p.Totals.Merges != 3 || p.Totals.Rounds != 2 || p.Shards[0].After.Chunks != 2 || p.Shards[1].After.Chunks != 1 {
		t.Errorf("%+v, %+v", p.Totals, p.Shards)
	}
	p = mustMake(t, zoned(t, s, "db.c", "EU", 6000, 7000, 0), goal(plan.Consolidate))
	if p.Totals.Merges != 2 || !p.ReachesGoal {
		t.Errorf("%+v, reached %v", p.Totals, p.ReachesGoal)
	}
}

// A plan ends before the first step that would pass a limit.
func TestLimits(t *testing.T) {
	s := snaptest.SnapshotOf(4, collection(t, "db.c", 4, 128*mib, repeat(0, 40)...))
	all := mustMake(t, s, plan.Options{})
	for name, c := range map[string]struct {
		limits plan.Limits
		steps  int
	}{
		"moves":               {plan.Limits{Moves: 5}, 5},
		"bytes":               {plan.Limits{Bytes: 4*128*mib + 100}, 4},
		"rounds":              {plan.Limits{Rounds: 3}, 3},
		"time":                {plan.Limits{Time: all.Steps[6].Start + all.Steps[6].Takes}, 7},
		"the smallest of all": {plan.Limits{Moves: 9, Bytes: 2 * 128 * mib}, 2},
	} {
		p := mustMake(t, s, plan.Options{Limits: c.limits})
		if len(p.Steps) != c.steps || p.ReachesGoal || len(p.Left) != 1 || p.Left[0].Code != diagnosis.PlanLimited {
			t.Errorf("%s: %d steps, reached %v, left %+v", name, len(p.Steps), p.ReachesGoal, p.Left)
			continue
		}
		for i, step := range p.Steps {
			if step.Why != all.Steps[i].Why {
				t.Errorf("%s: step %d is explained with %q, not with %q", name, i+1, step.Why, all.Steps[i].Why)
			}
		}
	}
	if p := mustMake(t, s, plan.Options{Limits: plan.Limits{Time: 365 * 24 * time.Hour, Moves: 1000}}); !p.ReachesGoal {
		t.Errorf("limits that are far away: %+v", p.Left)
	}
}

func TestRefused(t *testing.T) {
	s := snaptest.SnapshotOf(2, collection(t, "db.c", 2, mib, 0, 1))
	drain := goal(plan.Drain)
	drain.Goal.Shard = "s09"
	for name, c := range map[string]struct {
		o    plan.Options
		want string
	}{
		"no such shard":      {drain, `no shard "s09"`},
		"no such collection": {goal(plan.Balance, "db.x"), "db.x is not a sharded collection of this cluster"},
		"a bad pattern":      {goal(plan.Balance, "db.["), "not a valid pattern"},
		"no such goal":       {goal("peace"), `"peace" is not a valid goal: use balance`},
		"a limit":            {plan.Options{Limits: plan.Limits{Moves: -1}}, "limit of moves is -1"},
		"a model":            {plan.Options{Model: plan.ChunkModel{Name: "guess"}}, "not a valid model of chunk contents"},
	} {
		if _, err := plan.Make(s, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := plan.Make(s, goal(plan.Balance, "x.*"))
	if unknown, is := errors.AsType[*diagnosis.NotFoundError](err); !is || unknown.Name != "x.*" {
		t.Error(err)
	}
}

// A shard without chunks is drained, whatever else there is to do.
func TestNothingToDrain(t *testing.T) {
	s := zoned(t, snaptest.SnapshotOf(3, collection(t, "db.c", 3, 128*mib, repeat(0, 12)...)), "db.c", "EU", 1500, 3000, 2)
	o := goal(plan.Drain)
	o.Goal.Shard = "s01"
	if p := mustMake(t, s, o); len(p.Steps) > 0 || !p.ReachesGoal || len(p.Left) > 0 {
		t.Errorf("%+v, reached %v, left %+v", p.Totals, p.ReachesGoal, p.Left)
	}
}

// Where a drain can't go on the plan ends, though the balancer would even out the
// rest: the chunk in the zone EU has nowhere to go.
func TestDrainThatCannotGoOn(t *testing.T) {
	owners := append([]int{2, 2, 2}, repeat(0, 12)...)
	s := zoned(t, snaptest.SnapshotOf(3, collection(t, "db.c", 3, 128*mib, owners...)), "db.c", "EU", 1000, 2000, 2)
	o := goal(plan.Drain)
	o.Goal.Shard = "s02"
	p := mustMake(t, s, o)
	last := p.Steps[len(p.Steps)-1]
	if p.ReachesGoal || p.Shards[2].After != (plan.Holding{Chunks: 1, Bytes: 128 * mib}) ||
		last.From != "s02" || last.Reason != policy.ReasonDrain {
		t.Errorf("reached %v, %+v, last %+v", p.ReachesGoal, p.Shards[2], last)
	}
	if !slices.ContainsFunc(p.Left, func(f diagnosis.Finding) bool { return f.Code == diagnosis.NoRecipient }) {
		t.Errorf("left %+v", p.Left)
	}
}
