package main

import (
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
			if good := (&jobFlags{do: do}).good(action.JobStatus{State: state}); good != want[i] {
				t.Errorf("%s of %s: %v", do, state, good)
			}
		}
	}
}
