package testrunner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/mongoerr"
)

// fault is a fault that is injected into one script when a test is repeated.
type fault struct {
	// scriptNumber is the index of the script in the test, and command is the number of the script's command,
	// from 1.
	scriptNumber, command int
	name                  string        // name of the command
	cleanState            balancerState // state after the script without a fault
	cutsConnection        bool          // lose the connection after the command; otherwise the command fails
	// reached says that the script has sent the command and ended with exitCode.
	reached  bool
	exitCode int
}

func (f *fault) String() string {
	what := "fails"
	if f.cutsConnection {
		what = "is carried out and the connection cut"
	}
	return fmt.Sprintf("when command %d of run %d (%s) %s", f.command, f.scriptNumber, f.name, what)
}

// tryFaults repeats a test that has passed, with a fault at each command that its scripts have sent. It
// stops at the first fault with problems.
func (f *file) tryFaults(ctx context.Context, clean *testRun, from startPoint, tried *int) []Problem {
	for i, clear := range clean.scriptRuns {
		for k, name := range clear.commands {
			for _, cut := range []bool{false, true} {
				if ctx.Err() != nil {
					return nil
				}
				x := &fault{scriptNumber: i + 1, command: k + 1, name: name, cleanState: clear.stateAfter, cutsConnection: cut}
				problems := f.runOnce(ctx, &testRun{test: clean.test, seed: clean.seed, fault: x}, from)
				*tried++
				f.options.OnTest(f.path, clean.test.title(), *tried)
				if len(problems) == 0 {
					continue
				}
				for j := range problems {
					problems[j].During = x.duringText(problems[j].During)
				}
				return problems
			}
		}
	}
	return nil
}

func (f *fault) duringText(hook string) string {
	text := f.String()
	if f.reached {
		text += fmt.Sprintf(" (the script's exit code: %d)", f.exitCode)
	}
	if hook != "" {
		text = hook + ", " + text
	}
	return text
}

// runScriptOfTest runs a script of a test. If the fault is for this script, it runs the script with the
// fault and then, if the script failed, once more without.
func (f *file) runScriptOfTest(r scriptRun) scriptResult {
	a, w := f.currentRun, f.testCluster
	number := w.scriptRuns + 1
	x := a.fault
	if x == nil || x.scriptNumber != number {
		result := f.runScript(r)
		if x == nil {
			a.scriptRuns = append(a.scriptRuns, cleanRun{namesOf(result.commands), w.balancerState()})
		}
		return result
	}
	before := w.balancerState()
	trigger := &trigger{countdown: x.command, cutsConnection: x.cutsConnection, text: x.String()}
	if !x.cutsConnection {
		trigger.replyError = mongoerr.New(mongoerr.OperationFailed, "made to fail by shardsh test --every-fault")
	}
	w.recorder.addTrigger(trigger)
	result := f.runScript(r)
	w.recorder.removeTrigger(trigger)
	x.reached, x.exitCode = trigger.firedAt != "", result.exitCode
	if result.exitCode == 0 {
		return result
	}
	note := func(wrong []string) {
		if len(wrong) > 0 {
			a.otherProblems = append(a.otherProblems, Problem{Text: strings.Join(wrong, "\n")})
		}
	}
	note(w.leftBehindProblems(before, x.cleanState, result))
	w.scriptRuns--
	again := f.runScript(r)
	if again.exitCode == 0 {
		note(w.leftDrainingProblems(before, x.cleanState, result))
	} else if len(a.otherProblems) > 0 {
		return result
	}
	return again
}

func namesOf(list []*Command) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return names
}

// removeTrigger removes a trigger.
func (t *recorder) removeTrigger(a *trigger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.triggers = slices.DeleteFunc(t.triggers, func(other *trigger) bool { return other == a })
}
