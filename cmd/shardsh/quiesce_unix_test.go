//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A command that runs inside gets the program's output, finds the balancer off, and its
// exit code is that of the program. Then what was is given back.
func TestQuiesceRunsACommand(t *testing.T) {
	address := serve(t, heapedTopology).address
	mode := func() string {
		_, out, _ := runProgram(t, "", address, "--quiet", "--eval", "sh.isBalancerRunning().mode")
		return strings.TrimSpace(out)
	}
	runProgram(t, "", address, "--quiet", "--eval", "sh.startBalancer()")
	for code, line := range map[int]string{exitOK: "echo inside", 7: "echo inside; exit 7"} {
		exit, out, errs := hurried(t, "quiesce", address, "--ignore-deletions", "--", "sh", "-c", line)
		if exit != code || out != "inside\n" || !strings.Contains(errs, "Quiet from ") ||
			!strings.Contains(errs, "The balancer is on again.") || mode() != "full" {
			t.Errorf("%s: %d, %s, %s, the balancer is %s", line, exit, out, errs, mode())
		}
	}
	if exit, _, errs := hurried(t, "quiesce", address, "--ignore-deletions", "--", "no-such-program"); exit != exitFailure ||
		!strings.Contains(errs, "no-such-program") || mode() != "full" {
		t.Errorf("a program that is not there: %d, %s, the balancer is %s", exit, errs, mode())
	}
}

// A detached one leaves the cluster quiet, says so to runs, and is ended by --end.
func TestQuiesceDetachedAndEnded(t *testing.T) {
	address := serve(t, heapedTopology).address
	runProgram(t, "", address, "--quiet", "--eval", "sh.startBalancer()")
	exit, out, errs := hurried(t, "quiesce", address, "--ignore-deletions", "--detach", "--hold", "1h", "--json")
	var verdict struct {
		Verdict, Quiet, Until string
		Term                  int
	}
	if err := json.Unmarshal([]byte(out), &verdict); err != nil || exit != exitOK || verdict.Verdict != "quiet" ||
		verdict.Quiet == "" || verdict.Until == "" || verdict.Term == 0 {
		t.Fatalf("%d, %s, %s, %v", exit, out, errs, err)
	}
	exit, out, errs = runProgram(t, "", "balance", address, "--ns", "shop.orders", "--yes", "--pause-balancing")
	if exit != exitFailure || !strings.Contains(errs, "quiesce") {
		t.Errorf("a run begins: %d, %s, %s", exit, out, errs)
	}
	exit, out, errs = runProgram(t, "", "quiesce", address, "--hold", "1s")
	if exit != exitFailure || !strings.Contains(errs, "quiesce") {
		t.Errorf("another one begins: %d, %s, %s", exit, out, errs)
	}
	exit, out, errs = runProgram(t, "", "quiesce", address, "--end")
	if exit != exitOK || out != "The balancer is on again.\n" {
		t.Errorf("--end: %d, %s, %s", exit, out, errs)
	}
}

func TestQuiesceRefuses(t *testing.T) {
	for line, reason := range map[string]string{
		"quiesce --mock":                                "needs a command to run meanwhile, or --hold",
		"quiesce --mock --hold 1h --read-only":          "--read-only and quiesce exclude each other",
		"quiesce --mock --":                             "no command after --",
		"quiesce a b -- c":                              "one address",
		"quiesce --mock --detach":                       "--detach needs --hold",
		"quiesce --mock --detach --hold 1h -- true":     "--detach returns at once",
		"quiesce --mock --end --hold 1h":                "--end restores the previous state",
		"quiesce -- true":                               "needs the address",
		"quiesce --mock --ignore-deletions --hold soon": "soon",
	} {
		exit, out, errs := runProgram(t, "", strings.Fields(line)...)
		if exit != exitUsage || !strings.Contains(errs, reason) {
			t.Errorf("%s: %d, %s, %s", line, exit, out, errs)
		}
	}
}
