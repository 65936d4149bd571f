//go:build unix

package main

import (
	"cmp"
	"os/exec"
	"slices"
	"testing"
)

// paces are those of scenarios in which mongosh has to act within a round.
var paces = map[string]string{"07-jumbo": "4x"}

// The recorded scenarios through the real mongosh, unchanged, against the mock
// behind a port: neither can tell it from the cluster that was recorded. The
// mock's time runs faster, so that nobody waits for balancing rounds. Its hosts
// are of the kind that the recorder leaves out where they are names of fields.
func TestGoldenScenariosThroughMongosh(t *testing.T) {
	program := mongosh(t)
	topology := writeFile(t, "topology.json", `{"shards": [{"id": "shard0", "host": "rs0/127.0.0.1:27120"},
	  {"id": "shard1", "host": "rs1/127.0.0.1:27121"}, {"id": "shard2", "host": "rs2/127.0.0.1:27122"}]}`)
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			served := startServe(t, slices.Concat([]string{"--topology", topology, "--mock-time", cmp.Or(paces[name], "40x")},
				goldenParameters)...)
			args := append([]string{"--quiet", "--norc", served.uri}, scenarioFiles(name)...)
			out, err := exec.CommandContext(t.Context(), program, args...).Output()
			if err != nil {
				t.Fatalf("mongosh: %v\n%s", err, out)
			}
			compareRecording(t, name, parseSteps(t, out), nil)
		})
	}
}
