package apply_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// lopsided has twelve chunks on a, none on b and c. All but the last hold next to nothing: a
// plan believes that each holds a twelfth.
func lopsided(t *testing.T, release catalog.Release) *world {
	text := `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [`
	for i := range 11 {
		text += fmt.Sprintf(`{"shard": "a", "bytes": 1048576, "docs": 1024, "max": {"x": %d}}, `, 1000*(i+1))
	}
	return newWorld(t, text+`{"shard": "a", "bytes": 1200000000, "docs": 1200000}]}]}`, release, 1)
}

// What holds much less than was planned stops a plan that evens out bytes, or has a new one
// take over, since the shards would not be even at its end. After the second step 190 MiB of
// 192 are missing, more than a chunk and half of what was planned.
func TestMuchLessThanPlanned(t *testing.T) {
	w := lopsided(t, catalog.Release80)
	p := w.plan(plan.Goal{Kind: plan.Balance})
	r, err := apply.Run(t.Context(), w.steps, p, w.options())
	if !holdsOther(err) || !strings.Contains(err.Error(), "hold much less than the plan expected") ||
		r.Progress.StepsThisRun != 2 || r.Finished {
		t.Errorf("%+v, %v", r.Progress, err)
	}
	w = lopsided(t, catalog.Release80)
	o := w.options()
	o.ChangePolicy, o.Replan = apply.ReplanOnChange, w.replan
	if r := w.mustRun(p, o); r.Replans == 0 {
		t.Error("no other plan took over")
	}
	if again := w.plan(p.Goal); len(again.Steps) > 0 {
		t.Errorf("%d steps are left", len(again.Steps))
	}
}

// What does its work whatever chunks hold goes on.
func TestLessDoesNoHarm(t *testing.T) {
	for name, c := range map[string]struct {
		release catalog.Release
		goal    plan.Goal
	}{
		"a drain":                  {catalog.Release80, plan.Goal{Kind: plan.Drain, Shard: "a"}},
		"an even number of chunks": {catalog.Release50, plan.Goal{Kind: plan.Balance}},
	} {
		t.Run(name, func(t *testing.T) {
			w := lopsided(t, c.release)
			w.mustRun(w.plan(c.goal), w.options())
		})
	}
}

// Of plans that only guess what chunks hold, where that is between a quarter and the whole of
// a chunk size as after years of splitting, at most one in fifty stops at it.
func TestFewFalseAlarms(t *testing.T) {
	stopped, steps := 0, 0
	plans := several(20, 1000)
	for seed := range plans {
		r := rand.New(rand.NewPCG(seed, 1))
		text := `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"stopped": true}},
			"collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [`
		n := 20 + r.IntN(60)
		for i := range n {
			documents := 32*1024 + r.IntN(96*1024)
			text += fmt.Sprintf(`%s{"shard": "a", "bytes": %d, "docs": %d`, comma(i), 1024*documents, documents)
			if i < n-1 {
				text += fmt.Sprintf(`, "max": {"x": %d}`, 1000*(i+1))
			}
			text += "}"
		}
		w := newWorld(t, text+"]}]}", catalog.Release80, seed)
		p := w.plan(plan.Goal{Kind: plan.Balance})
		steps += len(p.Steps)
		switch _, err := apply.Run(t.Context(), w.steps, p, w.options()); {
		case holdsOther(err):
			stopped++
			t.Log(seed, err)
		case err != nil:
			t.Fatal(err)
		}
	}
	if stopped > int(plans)/50 {
		t.Errorf("%d of %d runs, of %d steps, stopped at what chunks hold", stopped, plans, steps)
	}
}
