package action

import (
	"errors"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
)

// A dry run has nothing done, whatever it found out.
func TestResultOfADryRun(t *testing.T) {
	for _, possible := range []bool{true, false} {
		r := planResult(apply.Result{Plan: &plan.Plan{ID: "plan-1"}, Applicable: possible, Stopped: "a limit"}, nil, true)
		if r.Finished || r.Applicable != possible || !r.DryRun {
			t.Errorf("%+v", r)
		}
	}
}

// Each face has the names of options in its own spelling.
func TestSpelling(t *testing.T) {
	err := Apply{RunOptions: RunOptions{ResumeJournal: "j", Pace: Pace{Parallel: 1}}, UndoJournal: "j"}.Validate()
	wrong, is := errors.AsType[*OptionError](err)
	if !is || wrong.Error() != "resume and undo exclude each other" ||
		wrong.SpellOptions(SpellAsFlag) != "--resume and --undo exclude each other" || SpellAsFlag("pauseBetween") != "--pause-between" {
		t.Errorf("%v", err)
	}
}
