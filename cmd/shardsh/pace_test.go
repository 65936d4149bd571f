package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestPaceFlags(t *testing.T) {
	address, plan := heaped(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--window", "22:00"}, `"22:00" is not a valid window, such as "22:00-06:00"`},
		{[]string{"--window", "22:00-06:00 Mars"}, `"Mars" is not a valid time zone`},
		{[]string{"--pause-when", "lagg > 10s"}, "expected one of active, cache, connections, cpu"},
		{[]string{"--for", "-1"}, "is not a time above 0"},
		{[]string{"--max-moves", "-1"}, "--max-moves can't be negative: -1"},
		{[]string{"--parallel", "0"}, "--parallel must be at least 1, not 0"},
		{[]string{"--cool-down", "1m"}, "cool-down"},
	} {
		code, stdout, stderr := runProgram(t, "", append([]string{"apply", plan, address, "--yes"}, tt.args...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%v: exit code %d, %q, %q", tt.args, code, stdout, stderr)
		}
	}
	if got := ownersOf(t, address); got != "aaaaaaa" {
		t.Errorf("the cluster has changed: %s", got)
	}
}

// The shards themselves are asked, with the user of the cluster, and nothing moves
// while one of them lags.
func TestPauseWhen(t *testing.T) {
	p := startServe(t, "--shard-ports", "--topology", writeFile(t, "topology.json", heapedTopology),
		"--auth", "root:"+writeFile(t, "password", "secret"))
	plan := filepath.Join(t.TempDir(), "plan.json")
	run := func(args ...string) (int, string, string) {
		t.Helper()
		return runProgram(t, "", append(args, "-u", "root", "--passwordFile", writeFile(t, "password", "secret"))...)
	}
	if code, _, stderr := run("plan", p.uri, "--json", "-o", plan); code != exitOK {
		t.Fatal(stderr)
	}
	slow := func(figures string) {
		t.Helper()
		if code, _, stderr := run(p.uri, "--quiet", "--eval", `for (const s of "abc") mock.slow(s, `+figures+`)`); code != exitOK {
			t.Fatal(stderr)
		}
	}
	slow(`{ lag: "14s", queue: 60 }`)
	for _, tt := range []struct {
		when           string
		stdout, stderr string
	}{
		{"lag > 10s and queue > 50", "was stopped: the limit of 1s is reached; 0 of 3 steps", "Paused: lag 14s on a/"},
		{"queue > 50", "the limit of 1s is reached; 0 of 3", "Paused: queue 60 on a/127.0.0.1:"},
		{"lag > 10s or dirty > 5%", "the limit of 1s is reached; 0 of 3", "No member reports dirty: --pause-when ignores it."},
		{"lag > 20s or queue > 70 or oplog < 0s", "the limit of 1 move is reached; 1 of 3 steps", ""},
	} {
		code, stdout, stderr := run("apply", plan, p.uri, "--yes", "--pause-when", tt.when, "--for", "1s", "--max-moves", "1",
			"--journal", filepath.Join(t.TempDir(), "journal"))
		if code != exitOK || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: exit code %d, %q, %q", tt.when, code, stdout, stderr)
		}
	}
}
