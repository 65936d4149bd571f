package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shardsh/balancer/diff"
	"shardsh/balancer/mock/mocktest"
)

// What has changed in a cluster is told by files, by a directory, and by the cluster itself.
func TestDiff(t *testing.T) {
	t.Parallel()
	uri := mocktest.Start(t, 3)
	dir := t.TempDir()
	old, history := filepath.Join(dir, "old.snap"), filepath.Join(dir, "history")
	must := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := runProgram(t, "", args...)
		if code != want {
			t.Errorf("%q ends with %d, want %d\n%s%s", args, code, want, stdout, stderr)
		}
		return stdout + stderr
	}
	must(0, uri, "--quiet", "--eval", `sh.stopBalancer(); sh.shardCollection("shop.orders", {x: 1})`)
	must(0, "snapshot", uri, "-o", old)
	must(0, "snapshot", "--from", old, "--into", history)
	if got := must(0, "diff", old, old); !strings.Contains(got, ": nothing has changed\n") {
		t.Error(got)
	}
	if got := must(1, "diff", history); !strings.Contains(got, "one snapshot only") {
		t.Error(got)
	}
	must(0, uri, "--quiet", "--eval", `sh.addShardToZone("shard1", "EU"); sh.splitAt("shop.orders", {x: 5}); sleep(1100)`)
	must(0, "snapshot", uri, "--into", history)
	for _, args := range [][]string{{old, uri}, {old, history}, {history}, {history, uri, "--since", "1h"}, {"--since", "1s", history}} {
		got := must(3, append([]string{"diff"}, args...)...)
		for _, want := range []string{": 2 changes of 2 kinds\n", "\nZones\n  shard1 is in the zone EU\n",
			"\nChunks\n  shop.orders: 1 chunk created by splits ("} {
			if !strings.Contains(got, want) {
				t.Errorf("%q has no %q:\n%s", args, want, got)
			}
		}
	}
	must(0, "diff", old, uri, "--ignore", "zone-shard-added,chunks-split")
	must(0, "diff", old, uri, "--ignore", "zone-shard-added", "--ns", "crm.*")
	if got := must(3, "diff", "--since", "30d", history); !strings.Contains(got, "this is the oldest") {
		t.Error(got)
	}
	must(0, "drain", uri, "--shard", "shard2", "--yes", "--audit", "cluster", "--journal", filepath.Join(dir, "j"))
	if got := must(3, "diff", old, uri); !regexp.MustCompile(`\nBy the audit\n  20\S+ \S+Z .* drain `).MatchString(got) {
		t.Errorf("no run is told:\n%s", got)
	}
	code, stdout, _ := runProgram(t, "", "diff", old, uri, "--json", "--ignore", "database-added")
	var r diff.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 3 || len(r.Changes) != 2 || r.Changes[1].Examples[0] != `{"x": 5}` {
		t.Errorf("%d, %v\n%s", code, err, stdout)
	}
}

func TestDiffMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(other, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"":                               {2, "two snapshots, OLD NEW"},
		"a b c":                          {2, "two snapshots, OLD NEW"},
		"mongodb://h a.snap":             {2, "the older one is a file"},
		"a.snap":                         {2, "two snapshots, OLD NEW"},
		"a.snap b.snap --ignore moved":   {2, `no kind of change "moved"`},
		"a.snap b.snap --ns [":           {2, "--ns"},
		"a.snap b.snap --since tomorrow": {2, "--since takes yesterday"},
		"a.snap b.snap --tls":            {2, "--tls is for a cluster"},
		"a.snap b.snap --host h":         {2, "--host and --port name a cluster: leave them out, or b.snap"},
		"missing.snap missing.snap":      {1, "missing.snap"},
		other + " " + other:              {1, "not a snapshot"},
		dir:                              {1, "no snapshots (shardsh snapshot --into DIR keeps some)"},
	} {
		code, stdout, stderr := runProgram(t, "", append([]string{"diff"}, strings.Fields(args)...)...)
		if code != want.code || !strings.Contains(stderr, want.text) || stdout != "" {
			t.Errorf("diff %s ends with %d, want %d\n%s%s\nwant %s", args, code, want.code, stdout, stderr, want.text)
		}
	}
}
