package main

import (
	"slices"
	"testing"

	"shardsh/balancer/live/suite/recorded"
)

// What a real MongoDB 8.0.10 cluster answered, step by step, is what the mock
// answers through the whole program: shell, driver, wire protocol, router.
func TestGoldenScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, s := range recorded.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Setenv("ROUTER_B", "mongodb://mock2:27017/")
			code, stdout, stderr := runProgram(t, "",
				slices.Concat([]string{"--quiet"}, s.MockArgs(t), s.WriteScripts(t))...)
			if code != exitOK {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			s.Compare(t, []byte(stdout), recorded.KnownDifferences())
		})
	}
}
