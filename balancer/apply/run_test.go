package apply_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
)

var full = flag.Bool("apply.full", false, "as many random clusters as the proofs ask for")

// several returns how many random cases are run.
func several(some, all int) uint64 {
	if *full {
		return uint64(all)
	}
	return uint64(max(1, some/usualPart))
}

// Applying a plan leaves a cluster in which the policy has nothing to do. A
// defragmentation is the exception: it merges across the bounds of zones, which the
// balancer then splits again.
func TestNothingIsLeft(t *testing.T) {
	steps := 0
	for seed := range several(12, 120) {
		release := releases()[seed%uint64(len(releases()))]
		goal := goals(release)[int(seed/uint64(len(releases())))%len(goals(release))]
		t.Run(fmt.Sprintf("%s, %s, seed %d", release, goal.Kind, seed), func(t *testing.T) {
			w := newWorld(t, even(rand.New(rand.NewPCG(seed, 1))), release, seed)
			p := w.plan(goal)
			steps += len(p.Steps)
			o := w.options()
			o.Parallel = 1 + int(seed%3)
			r := w.mustRun(p, o)
			// Where donors halve ranges, the pieces are as many as planned, and not as large.
			asMuch := r.Progress.BytesThisRun == p.Totals.Bytes || !release.ShowsSplitPoints()
			if r.Progress.StepsThisRun != len(p.Steps) || !asMuch {
				t.Errorf("%+v of %+v", r.Progress, p.Totals)
			}
			if again := w.plan(goal); len(again.Steps) > 0 && goal.Kind != plan.Defragment {
				t.Errorf("%d steps are left after %d, the first one %s: %s", len(again.Steps), len(p.Steps),
					apply.Describe(again.Steps[0]), again.Steps[0].Why)
			}
		})
	}
	if steps == 0 {
		t.Error("no plan had a step")
	}
}
