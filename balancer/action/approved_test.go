package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

func (w *world) approved(p *plan.Plan, hash string) (PlanResult, error) {
	a := Apply{Plan: p, ApprovedHash: hash, RunOptions: RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true}}
	a.Confirm = nil
	return a.Run(w.Context(), w.actionCluster(), nil)
}

// What was approved is what runs: no other plan, however alike, and not a byte more.
func TestApproved(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release80} {
		w := newWorld(t, scattered(rand.New(rand.NewPCG(3, 9)), stopped), release, 1)
		p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "s0"})
		if len(p.Steps) < 2 || len(p.Hash) != 64 {
			t.Fatalf("%d steps, hash %q", len(p.Steps), p.Hash)
		}
		for _, hash := range []string{p.Hash[:31], p.ID, strings.Repeat("g", 40), p.Hash + "0"} {
			if _, err := w.approved(p, hash); !errors.As(err, new(*OptionError)) {
				t.Errorf("--approve %s: %v", hash, err)
			}
		}
		other := strings.Repeat("0", 64)
		if r, err := w.approved(p, other); !errors.As(err, new(*plan.ApprovalError)) || r.PlanID != "" ||
			!strings.Contains(err.Error(), p.Hash) || !strings.Contains(err.Error(), other) {
			t.Errorf("%+v, %v", r, err)
		}
		less := *p
		less.Steps = p.Steps[:1] // as by a program that does not go by the id
		if _, err := w.approved(&less, p.Hash); !errors.As(err, new(*plan.ApprovalError)) {
			t.Errorf("another plan with the same id and hash: %v", err)
		}
		if r, err := w.approved(p, strings.ToUpper(p.Hash[:32])); err != nil || !r.Finished {
			t.Errorf("%s: %+v, %v", release, r, err)
		}
		w.well()
	}
}

// The form of a plan in a file does not count, and what an operator reads neither.
func TestApprovedFile(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(4, 9)), stopped), catalog.Release80, 1)
	p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "s0"})
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	again, err := plan.Read(bytes.NewReader(text))
	if err != nil || again.Hash != p.Hash || again.CheckApprovedHash(p.Hash) != nil {
		t.Error(err)
	}
	edited := bytes.Replace(text, []byte(p.Hash), []byte(strings.Repeat("1", 64)), 1)
	if _, err := plan.Read(bytes.NewReader(edited)); !errors.Is(err, plan.ErrEdited) {
		t.Errorf("with another hash: %v", err)
	}
}

// A run of an approved plan stops where the cluster has changed, and keeps the limits of
// the plan.
func TestApprovedStops(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(5, 9)), stopped), catalog.Release80, 1)
	made, err := plan.Make(w.snapshot(), plan.Options{
		Goal: plan.Goal{Kind: plan.Drain, Shard: "s0"}, IgnoreWindow: true, Limits: plan.Limits{Moves: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.approved(made, made.Hash)
	if err != nil || r.MovesDone > 2 {
		t.Errorf("%+v, %v", r, err)
	}
	old := w.plan(plan.Goal{Kind: plan.Drain, Shard: "s0"})
	first := old.Steps[0]
	if first.Kind != plan.Move {
		t.Skip("the plan begins with a split")
	}
	other := catalog.ShardID("s1")
	if first.To == other {
		other = "s2"
	}
	l, err := w.actionCluster().acquire(t.Context(), w.actionCluster().runner(), "moving", false)
	if err != nil {
		t.Fatal(err)
	}
	c := w.snapshot().Collection(first.Namespace)
	move := apply.Command{Kind: plan.Move, Namespace: first.Namespace, Pattern: c.Pattern, From: "s0", To: other,
		Min: first.Min, Max: first.Max, Settings: w.snapshot().Settings()}
	if err := l.lease.Do(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	if err := l.lease.EndRun(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r, err = w.approved(old, old.Hash)
	if !errors.As(err, new(*apply.ChangedError)) || !strings.Contains(err.Error(), "make a new plan and have it approved") {
		t.Errorf("%+v, %v", r, err)
	}
	w.well()
}

// Commands beyond the steps of an approved plan are not sent.
func TestApprovedStepsAlone(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(6, 9)), stopped), catalog.Release80, 1)
	p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "s0"})
	var s plan.Step
	var bounds plan.Range
	for _, one := range p.Steps {
		chunks := slices.Collect(w.snapshot().Collection(one.Namespace).Table.All())
		all := plan.Range{Min: chunks[0].Min, Max: chunks[len(chunks)-1].Max}
		if one.Kind == plan.Move && one.KnownRange == nil && all.Min.Less(one.Min) && one.Max.Less(all.Max) {
			s, bounds = one, all
		}
	}
	if s.Kind == "" {
		t.Fatal("no step has known bounds")
	}
	good := apply.Command{Kind: plan.Move, Namespace: s.Namespace, From: s.From, To: s.To, Min: s.Min, Max: s.Max}
	if !isPartOf(s, good) {
		t.Error("the step itself is refused")
	}
	for name, change := range map[string]func(*apply.Command){
		"another shard": func(c *apply.Command) { c.To = "s9" },
		"more above":    func(c *apply.Command) { c.Max = bounds.Max },
		"more below":    func(c *apply.Command) { c.Min = bounds.Min },
		"force":         func(c *apply.Command) { c.Force = true },
		"a merge":       func(c *apply.Command) { c.Kind, c.Min, c.Max = plan.Merge, bounds.Min, bounds.Max },
		"a split":       func(c *apply.Command) { c.Kind, c.Point = plan.Split, bounds.Min },
	} {
		bad := good
		change(&bad)
		if isPartOf(s, bad) {
			t.Errorf("%s is let through", name)
		}
	}
}

// A merge splits nothing, and a split only at the points of its step, unless the donor chooses them.
func TestApprovedSplits(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(6, 9)), stopped), catalog.Release80, 1)
	chunks := slices.Collect(w.snapshot().Collections()[0].Table.All())
	lower, point, other, upper := chunks[1].Min, chunks[2].Min, chunks[3].Min, chunks[4].Min
	within := &plan.Range{Min: lower, Max: upper}
	for _, c := range []struct {
		name    string
		step    plan.Step
		command apply.Command
		want    bool
	}{
		{"a merge's split", plan.Step{Kind: plan.Merge}, apply.Command{Point: point}, false},
		{"a merge's halving", plan.Step{Kind: plan.Merge}, apply.Command{Halve: true, Min: lower, Max: upper}, false},
		{"the point", plan.Step{Kind: plan.Split, Points: []catalog.Key{point}}, apply.Command{Point: point}, true},
		{"another point", plan.Step{Kind: plan.Split, Points: []catalog.Key{point}}, apply.Command{Point: other}, false},
		{"a point of the donor", plan.Step{Kind: plan.Split, KnownRange: within}, apply.Command{Point: other}, true},
		{"a move's split", plan.Step{Kind: plan.Move}, apply.Command{Point: point}, true},
	} {
		c.step.Min, c.step.Max, c.command.Kind = lower, upper, plan.Split
		if got := isPartOf(c.step, c.command); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
