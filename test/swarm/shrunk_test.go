//go:build !mutant

// Mutants are built without this file: the test runner needs all of bindings.

package swarm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/mock"
	"shardsh/bindings/testrunner"
)

// tried runs a script with the test runner, and returns the problems of its test.
func tried(t *testing.T, text string) []testrunner.Problem {
	t.Helper()
	path := filepath.Join(t.TempDir(), "found_test.js")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	report := testrunner.Run(t.Context(), testrunner.Options{Files: []string{path}, Timeout: time.Minute})
	if len(report.Files) != 1 || report.Files[0].Problem != nil || len(report.Files[0].Tests) != 1 {
		t.Fatalf("%+v\n%s", report.Files, text)
	}
	return report.Files[0].Tests[0].Problems
}

// What a failure does not need is left out, and what is printed of it fails as a script.
func TestShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("dozens of runs")
	}
	tries := 0
	for seed := range uint64(100) {
		s := draw(seed)
		s.Flaws = mock.ServerBugs{}
		if !s.breaks(t, "fence") {
			continue
		}
		small := shrink(t, s, "fence", 150)
		things := len(small.Things) + len(small.Cuts)
		for _, r := range small.Runners {
			if r.Verb != "" {
				things++
			}
		}
		if things > 4 || small.Writers > 0 || !small.breaks(t, "fence") { // a step-down and a stop, and a move if they wait for one
			t.Errorf("it needs %d things: %s", things, small)
		}
		wrong := tried(t, small.script("fence"))
		if tries++; len(wrong) == 0 && tries < 4 {
			continue // it needs what a script leaves out, or times that are exact
		}
		t.Log(small.script("fence"))
		if len(wrong) != 1 || !strings.Contains(wrong[0].Text, "moveChunk.commit") {
			t.Errorf("the script has not found the commit: %v", wrong)
		}
		small.Things = slices.DeleteFunc(small.Things, func(t thing) bool { return strings.Contains(t.Command, "mockStepDown") })
		if wrong := tried(t, small.script("fence")); len(wrong) > 0 {
			t.Errorf("the script fails without the step-down: %v", wrong)
		}
		return
	}
	t.Error("nothing was found")
}
