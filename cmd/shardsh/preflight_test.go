package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// --preflight names what is in the way, with its remedy as this face spells it, and exits
// with 3; with 0 when there is nothing. Nothing is written, no journal either.
func TestPreflight(t *testing.T) {
	address := serve(t, heapedTopology).address
	t.Chdir(t.TempDir())
	code, stdout, stderr := runProgram(t, "", "drain", address, "--shard", "a", "--remove", "--preflight")
	for _, want := range []string{
		"1 thing is in the way", "you must move 1 database", "(drainNeedsOperator)", `sh.movePrimary("shop", <shard>)`,
		"or: --move-primaries moves it",
	} {
		if code != exitFindings || !strings.Contains(stdout, want) || stderr != "" {
			t.Errorf("exit code %d, %s%s", code, stdout, stderr)
		}
	}
	code, stdout, _ = runProgram(t, "", "drain", address, "--shard", "a", "--remove", "--preflight", "--json")
	var report struct {
		Ready     bool
		Obstacles []struct {
			Stops        bool
			Code, Option string
			Remedy       string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitFindings || report.Ready ||
		len(report.Obstacles) != 1 || !report.Obstacles[0].Stops || report.Obstacles[0].Option != "movePrimaries" {
		t.Errorf("exit code %d, %+v, %v", code, report, err)
	}
	for _, more := range []string{"--move-primaries", "--read-only --move-primaries", "--despite=drainNeedsOperator"} {
		args := append([]string{"drain", address, "--shard", "a", "--remove", "--preflight"}, strings.Fields(more)...)
		if code, stdout, stderr := runProgram(t, "", args...); code != exitOK || !strings.Contains(stdout, ": no obstacles") {
			t.Errorf("%s: exit code %d, %s%s", more, code, stdout, stderr)
		}
	}
	code, _, stderr = runProgram(t, "", "drain", address, "--shard", "a", "--remove", "--yes")
	if code != exitFailure || !strings.Contains(stderr, "--move-primaries moves it") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	code, _, stderr = runProgram(t, "", "drain", address, "--shard", "a", "--remove", "--dry-run")
	if !strings.Contains(stderr, "In the way: ") || !strings.Contains(stderr, "; --move-primaries moves it") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	code, stdout, _ = runProgram(t, "", "drain", address, "--shard", "nope", "--preflight")
	if code != exitFindings || !strings.Contains(stdout, "(noPlan)") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	for _, args := range [][]string{
		{"--quiet", "--eval", `fs.writeFileSync("../plan.json", JSON.stringify(sh.plan("shop.orders")))`},
		{"--quiet", "--eval", `sh.moveRange("shop.orders", "c", sh.plan("shop.orders").steps[0].min)`},
	} {
		if code, stdout, stderr := runProgram(t, "", append(args, address)...); code != exitOK {
			t.Fatal(stdout, stderr)
		}
	}
	code, stdout, _ = runProgram(t, "", "apply", "../plan.json", address, "--preflight")
	if code != exitFindings || !strings.Contains(stdout, "the plan moves it from a to") {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	_, stdout, _ = runProgram(t, "", address, "--quiet", "--eval",
		`db.getSiblingDB("shardsh").leases.countDocuments({}) + " " + sh.drainStatus("a").state + " " + fs.readdirSync(".").length`)
	if strings.TrimSpace(stdout) != "0 notDraining 0" {
		t.Error(stdout)
	}
}
