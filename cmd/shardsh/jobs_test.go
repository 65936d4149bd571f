package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/action"
	"shardsh/balancer/live"
)

// A loop that calls cancel until it is successful ends when nothing is left to cancel.
func TestJobExitCodes(t *testing.T) {
	for state, want := range map[live.JobState][2]bool{ // of start or status, and of cancel
		live.JobNone: {false, true}, live.JobPending: {true, false}, live.JobRunning: {true, false},
		live.JobWaiting: {true, false}, live.JobBlocked: {false, false}, live.JobFailed: {false, false},
		live.JobDone: {true, true}, live.JobCancelled: {false, true},
	} {
		for i, do := range []string{callStart, callCancel} {
			if good := (&jobFlags{call: do}).isHealthy(action.JobStatus{State: state}); good != want[i] {
				t.Errorf("%s of %s: %v", do, state, good)
			}
		}
	}
}

// The commands that a job says to enter next work as they are printed.
func TestJobNextStepsWork(t *testing.T) {
	address := serve(t, heapedTopology).address
	enter := func(words ...string) (status action.JobStatus) {
		t.Helper()
		code, out, stderr := runProgram(t, "", words...)
		if err := json.Unmarshal([]byte(out), &status); err != nil || code != exitOK && code != exitFindings {
			t.Fatalf("%q: exit code %d, %s%s", words, code, out, stderr)
		}
		return status
	}
	next := func(s action.JobStatus, which string) []string {
		t.Helper()
		i := slices.IndexFunc(s.NextSteps, func(c string) bool { return strings.HasPrefix(c, "shardsh "+which+" ") })
		if i < 0 {
			t.Fatalf("%q has no %s", s.NextSteps, which)
		}
		return strings.Fields(strings.ReplaceAll(s.NextSteps[i], "'", ""))[1:]
	}
	s := enter("drain", "status", address, "--shard", "a", "--json")
	s = enter(append(next(s, "drain start"), "--json", "--work-for", "0", "--max-moves", "2")...)
	s = enter(append(next(s, "drain cancel"), "--json")...)
	if s.State != live.JobCancelled {
		t.Errorf("%+v", s)
	}
	s = enter(append(next(s, "drain start"), "--json", "--work-for", "20s")...)
	for s.Progress.MovesDone == 0 && s.NeedsNoAction() {
		s = enter(append(next(s, "drain start"), "--json", "--work-for", "20s")...)
	}
	for !s.NothingToCancel() {
		s = enter(append(next(s, "drain cancel"), "--json")...)
	}
	undo := append(next(s, "apply"), "--dry-run", "--quiet") // time stands still here, and deletions take some
	if code, out, stderr := runProgram(t, "", undo...); code != exitOK {
		t.Errorf("%q: exit code %d, %s%s", undo, code, out, stderr)
	}
}
