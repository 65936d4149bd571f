package main

import (
	"encoding/json"
	"strings"
	"testing"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/whatif"
)

// Alternatives stand side by side, in lines that fit, and in JSON.
func TestSimulate(t *testing.T) {
	file := snaptest.LargeFile(t, snaptest.Scale{Shards: 4, Chunks: 40, EmptyShards: 1, ChunkBytes: 256 << 20})
	args := []string{"simulate", "--from", file, "--change", "addShard", "--change", "chunkSize 256",
		"--alternative", "drain s001; window 23:00 05:00", "--alternative", "grow 50%", "--alternative", "balancer off"}
	code, stdout, stderr := runProgram(t, "", args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	for _, part := range []string{
		"\n  A  addShard; chunkSize 256\n", "\n  B  drain s001; window 23:00 05:00\n", "\n  D  balancer off\n",
		"as it is       A              B              C\n", "as it is       D\n", "assumed on",
		"\nData on shards in the end\n", "\nData over links\n", "\nBlocked: D\n  the balancer is off (balancerOff)\n",
	} {
		if !strings.Contains(stdout, part) {
			t.Errorf("no %q in\n%s", part, stdout)
		}
	}
	for line := range strings.Lines(stdout) {
		if len(line) > 81 {
			t.Errorf("too long: %s", line)
		}
	}

	code, stdout, _ = runProgram(t, "", append(args, "--json")...)
	var out struct {
		Alternatives []struct {
			Name    string
			Changes []string
			Links   []whatif.Flow
			Plan    struct {
				Shards []struct {
					Shard string
					After struct{ Bytes int64 }
				}
				Totals struct{ Bytes int64 }
			}
			Forecast struct{ LikelyNanos int64 }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); code != exitOK || err != nil || len(out.Alternatives) != 5 {
		t.Fatalf("exit code %d, %v, %d alternatives", code, err, len(out.Alternatives))
	}
	for i, a := range out.Alternatives {
		total, moved := int64(0), int64(0)
		for _, shard := range a.Plan.Shards {
			total += shard.After.Bytes
			if a.Name == "drain s001; window 23:00 05:00" && shard.Shard == "s001" && shard.After.Bytes != 0 {
				t.Errorf("s001 drains and is left with %d bytes", shard.After.Bytes)
			}
		}
		for _, link := range a.Links {
			moved += link.Bytes
		}
		want := int64(40 * 256 << 20)
		if a.Name == "grow 50%" {
			want += want / 2
		}
		if total != want || moved != a.Plan.Totals.Bytes || moved == 0 {
			t.Errorf("%s: %d bytes in the end, %d over links, %d move", a.Name, total, moved, a.Plan.Totals.Bytes)
		}
		if shards := map[int]int{0: 4, 1: 5}[i]; shards > 0 && len(a.Plan.Shards) != shards {
			t.Errorf("%s: %d shards", a.Name, len(a.Plan.Shards))
		}
	}
}

func TestSimulateLine(t *testing.T) {
	file := snaptest.LargeFile(t, snaptest.Scale{})
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no cluster":           {[]string{"--change", "addShard"}, exitUsage, "needs the address of a cluster"},
		"no change":            {[]string{"--from", file}, exitUsage, "simulate needs --change or --alternative"},
		"an empty change":      {[]string{"--from", file, "--change", ""}, exitUsage, "--change: a change is empty"},
		"what is not a change": {[]string{"--from", file, "--change", "adShard"}, exitUsage, "did you mean addShard?"},
		"of an alternative":    {[]string{"--from", file, "--alternative", "drain a;grow"}, exitUsage, "--alternative: grow: got 0"},
		"no such shard":        {[]string{"--from", file, "--change", "drain s01"}, exitUsage, "drain s01: the cluster has no shard"},
		"who may be meant":     {[]string{"--from", file, "--change", "drain s01"}, exitUsage, "did you mean s00"},
		"no such model":        {[]string{"--from", file, "--change", "addShard", "--model", "odd"}, exitUsage, "--model"},
		"no such zone": {[]string{"--from", file, "--change", "addShard", "--time-zone", "Mars"}, exitUsage,
			`--time-zone: "Mars" is not`},
		"another format":        {[]string{"--from", file, "--change", "addShard", "--output", "xml"}, exitUsage, "--output takes"},
		"what is not an option": {[]string{"--changes", "addShard"}, exitUsage, "--change"},
		"a file that is none":   {[]string{"--from", "simulate_test.go", "--change", "addShard"}, exitFailure, "not a snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := runProgram(t, "", append([]string{"simulate"}, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
		})
	}
	code, stdout, _ := runProgram(t, "", "simulate", "--help-all")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, k := range whatif.ChangeKinds() {
		if !strings.Contains(stdout, "  "+k.Usage()+"\n") {
			t.Errorf("the help does not tell of %s", k.Usage())
		}
	}
}
