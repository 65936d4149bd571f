package actiontext

import (
	"testing"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
)

func TestStepText(t *testing.T) {
	e := apply.Event{
		Kind: apply.Began, Step: plan.Step{Number: 3, Kind: plan.Move, Namespace: "x.y"}, Progress: apply.Progress{Steps: 9},
	}
	if got := stepText(e); got != "step 3 of 9, move of x.y" {
		t.Error(got)
	}
	e.Kind, e.StepAge = apply.StillRunning, 65*time.Second
	if got := stepText(e); got != "step 3 of 9, move of x.y for 1m5s" {
		t.Error(got)
	}
}

// A dry run has nothing done, whatever it found out.
func TestPlanResultOfADryRun(t *testing.T) {
	for want, r := range map[string]action.PlanResult{
		"plan-1 can be applied: 4 steps; nothing was sent.": {Applicable: true},
		"plan-1 can't be applied completely: the limit of 1 move is reached; nothing was sent.": {
			Stopped: "the limit of 1 move is reached",
		},
		"plan-1 can't be applied as things stand; nothing was sent.": {}, // the error says why
	} {
		r.PlanID, r.Steps, r.DryRun = "plan-1", 4, true
		if got := PlanResult(r); got != want {
			t.Errorf("%q of %+v", got, r)
		}
	}
}
