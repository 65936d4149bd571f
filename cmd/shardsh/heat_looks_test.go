package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// Looks have the heat where it is asked for, and say what they lack; without --heat they have
// nothing of it, and with it they need a cluster.
func TestHeatInLooks(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	ofMap := []string{"map", "--mock=" + topology, "--ns", "shop.orders", "--json"}
	for _, args := range [][]string{ofMap, {"report", "--mock=" + topology, "--quick", "--json"}} {
		if text := output(t, append(args, "--quiet")...); strings.Contains(text, `"heat"`) {
			t.Errorf("%q: nobody asked for the heat:\n%s", args, text)
		}
	}
	code, stdout, stderr := runProgram(t, "", append(ofMap, "--heat", "10ms")...)
	var m struct {
		Heat *struct{ Cells, Shards []float64 }
	}
	if err := json.Unmarshal([]byte(stdout), &m); code != exitOK || err != nil || m.Heat == nil || len(m.Heat.Shards) != 2 ||
		len(m.Heat.Cells) != 0 || !strings.Contains(stderr, "No queries are sampled") {
		t.Errorf("exit code %d, %v, errors %q: %s", code, err, stderr, stdout)
	}
	var overview struct{ Heat []struct{ NS string } }
	text := output(t, "report", "--mock="+topology, "--quick", "--json", "--heat", "10ms")
	if err := json.Unmarshal([]byte(text), &overview); err != nil || len(overview.Heat) != 1 ||
		overview.Heat[0].NS != "shop.orders" {
		t.Errorf("%v: %s", err, text)
	}
	snapshot := t.TempDir() + "/cluster.snap"
	output(t, "snapshot", "--mock="+topology, "-o", snapshot)
	for _, args := range [][]string{
		{"map", "--from", snapshot, "--ns", "shop.orders", "--heat", "1s"}, {"report", "--from", snapshot, "--json", "--heat", "1s"},
		{"report", "--mock", "--json", "--heat", "1s", "--redact"}, {"watch", "--mock", "--once", "--heat"},
		{"watch", "--from", snapshot, "--heat"}, {"forecast", "--from", snapshot, "--goal", "load"},
		{"forecast", "--mock", "--goal", "load=bytes"}, {"simulate", "--from", snapshot, "--change", "goal load"},
		{"plan", "--mock", "--goal", "load"},
	} {
		if code, _, stderr := runProgram(t, "", args...); code != exitUsage || stderr == "" {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
}
