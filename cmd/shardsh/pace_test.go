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
		args = append(args, "-u", "root", "--passwordFile", writeFile(t, "password", "secret"))
		return hurried(t, args...)
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
		{"lag > 10s and queue > 50", "was stopped: the limit of 10s is reached; 0 of 3 steps", "Paused: lag 14s on a/"},
		{"queue > 50", "the limit of 10s is reached; 0 of 3", "Paused: queue 60 on a/127.0.0.1:"},
		{"lag > 10s or dirty > 5%", "the limit of 10s is reached; 0 of 3", "No member reports dirty: --pause-when ignores it."},
		{"lag > 20s or queue > 70 or oplog < 0s", "the limit of 1 move is reached; 1 of 3 steps", ""},
	} {
		code, stdout, stderr := run("apply", plan, p.uri, "--yes", "--pause-when", tt.when, "--for", "10s", "--max-moves", "1",
			"--journal", filepath.Join(t.TempDir(), "journal"))
		if code != exitOK || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: exit code %d, %q, %q", tt.when, code, stdout, stderr)
		}
	}
}

// Volumes, what is to be deleted, the majority and the config servers are asked, too: each
// condition of theirs that holds has the run wait, with its figure.
func TestPauseWhenDisks(t *testing.T) {
	topology := strings.Replace(heapedTopology, `{"id": "b"`, `{"id": "b", "disk": "2GB"`, 1)
	topology = strings.Replace(topology, `{"id": "a"`, `{"id": "a", "disk": "2GB"`, 1)
	p := startServe(t, "--shard-ports", "--topology", writeFile(t, "topology.json", topology))
	plan := filepath.Join(t.TempDir(), "plan.json")
	if code, _, stderr := runProgram(t, "", "plan", p.uri, "--json", "-o", plan); code != exitOK {
		t.Fatal(stderr)
	}
	journal := filepath.Join(t.TempDir(), "journal")
	apply := func(when string, more ...string) (string, string) {
		t.Helper()
		args := append([]string{"apply"}, more...)
		args = append(args, p.uri, "--yes", "--pause-when", when)
		_, stdout, stderr := hurried(t, args...)
		return stdout, stderr
	}
	if stdout, stderr := apply("disk > 99% or deletions > 0 or config.queue > 50", plan, "--max-moves", "1", "--journal",
		journal); !strings.Contains(stdout, "1 of 3 steps") || strings.Contains(stderr, "Paused") {
		t.Fatalf("%q, %q", stdout, stderr)
	}
	if code, _, stderr := runProgram(t, "", p.uri, "--quiet", "--eval",
		`for (const s of "abc") mock.slow(s, { lag: "9s" }); mock.slow("config", { queue: 70 })`); code != exitOK {
		t.Fatal(stderr)
	}
	for when, want := range map[string]string{
		"disk > 1%":         "Paused: disk ",
		"deletions > 0":     "Paused: deletions 1 on a/",
		"orphans >= 0":      "Paused: orphans 0 on a/", // of virtual documents the mock counts none
		"majority-lag > 5s": "Paused: majority-lag 9s on a/",
		"config.queue > 50": "Paused: config.queue 70 on config/",
	} {
		stdout, stderr := apply(when, "--for", "10s", "--resume", journal)
		if !strings.Contains(stdout, "the limit of 10s is reached; 1 of 3") || !strings.Contains(stderr, want) {
			t.Errorf("%s: %q, %q", when, stdout, stderr)
		}
	}
}
