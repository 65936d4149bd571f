//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/live/suite/recorded"
)

// The recorded scenarios through the real mongosh against the mock behind a port: neither can tell it from
// the cluster that was recorded. The mock's time runs faster, so that nobody waits for balancing rounds. Its
// hosts are of the kind that the recorder leaves out where they are names of fields. One mongosh, which starts
// slowly, runs a scenario after the other, each on a mock of its own.
func TestGoldenScenariosThroughMongosh(t *testing.T) {
	t.Parallel() // most of it is waiting
	program := mongosh(t)
	topology := writeFile(t, "topology.json", `{"shards": [{"id": "shard0", "host": "rs0/127.0.0.1:27120"},
	  {"id": "shard1", "host": "rs1/127.0.0.1:27121"}, {"id": "shard2", "host": "rs2/127.0.0.1:27122"}]}`)
	checkGoroutines(t)
	var scenarios []recorded.Scenario
	var all strings.Builder
	for _, s := range recorded.Scenarios() {
		if s.Routers > 1 || s.UsesMembers {
			continue // there is one router here, and a member a shard
		}
		pace := "40x"
		if s.ActsDuringRound { // a round lasts 10 s: long enough on a loaded machine, too
			pace = "real"
		}
		served := startServeParallel(t, append([]string{"--topology", topology, "--mock-time", pace},
			recorded.ServerParameterArgs()...)...)
		scenarios = append(scenarios, s)
		fmt.Fprintf(&all, "db = connect(%q);\n", served.uri)
		for withLib := range slices.Chunk(s.WriteScripts(t), 2) {
			fmt.Fprintf(&all, "(() => {\n%s\n})();\n", readAll(t, withLib))
		}
		fmt.Fprintf(&all, "print(%q);\n", between)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "--quiet", "--norc", "--nodb", writeFile(t, "all.js", all.String()))
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	printed := strings.Split(out.String(), between)
	if err != nil || len(printed) != len(scenarios)+1 {
		t.Fatalf("mongosh: %v after %d scenarios\n%.1000s\n%.1000s", err, len(printed)-1, printed[len(printed)-1], &errs)
	}
	for i, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) { s.Compare(t, []byte(printed[i]), nil) })
	}
}

func readAll(t *testing.T, paths []string) (texts []byte) {
	t.Helper()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text...)
	}
	return texts
}
