//go:build unix

package main

import (
	"os/exec"
	"testing"

	"shardsh/balancer/live/suite/recorded"
)

// The recorded scenarios through the real mongosh, unchanged, against the mock
// behind a port: neither can tell it from the cluster that was recorded. The
// mock's time runs faster, so that nobody waits for balancing rounds. Its hosts
// are of the kind that the recorder leaves out where they are names of fields.
func TestGoldenScenariosThroughMongosh(t *testing.T) {
	program := mongosh(t)
	topology := writeFile(t, "topology.json", `{"shards": [{"id": "shard0", "host": "rs0/127.0.0.1:27120"},
	  {"id": "shard1", "host": "rs1/127.0.0.1:27121"}, {"id": "shard2", "host": "rs2/127.0.0.1:27122"}]}`)
	checkGoroutines(t)
	for _, s := range recorded.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			if s.Routers > 1 || s.HasMembers {
				t.Skip("there is one router here, and a member a shard")
			}
			t.Parallel() // each has a mock of its own
			pace := "40x"
			if s.ActsDuringRound { // a round lasts 10 s: long enough on a loaded machine, too
				pace = "real"
			}
			served := startServeParallel(t, append([]string{"--topology", topology, "--mock-time", pace},
				recorded.ServerParameters()...)...)
			args := append([]string{"--quiet", "--norc", served.uri}, s.Scripts(t)...)
			out, err := exec.CommandContext(t.Context(), program, args...).Output()
			if err != nil {
				t.Fatalf("mongosh: %v\n%s", err, out)
			}
			s.Compare(t, out, nil)
		})
	}
}
