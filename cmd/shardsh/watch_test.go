package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWatchOnce(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	code, stdout, stderr := runProgram(t, "", "watch", "--mock="+topology, "--once")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, errors %q", code, stderr)
	}
	for _, want := range []string{
		"Balancer off", "4 GiB in 3 chunks on 3 shards", "shop.orders is not balanced", "alpha", "if the balancer is turned on",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	code, stdout, _ = runProgram(t, "", "watch", "--mock="+topology, "--once", "--json")
	var overview struct {
		Totals    struct{ Bytes int64 }
		Forecasts []struct{ IfSwitchedOn bool }
	}
	if err := json.Unmarshal([]byte(stdout), &overview); code != exitOK || err != nil || overview.Totals.Bytes != 4<<30 ||
		len(overview.Forecasts) != 1 || !overview.Forecasts[0].IfSwitchedOn || strings.Count(stdout, "\n") != 1 {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
}

// Without a topology there is something to look at all the same.
func TestWatchDemo(t *testing.T) {
	for _, shards := range []string{"1", "3", "20"} {
		code, stdout, stderr := runProgram(t, "", "watch", "--mock="+shards, "--once")
		if code != exitOK || stderr != "" || !strings.Contains(stdout, "in 168 chunks on "+shards+" shard") {
			t.Errorf("exit code %d, errors %q, output\n%s", code, stderr, stdout)
		}
	}
}

func TestWatchEndsInTime(t *testing.T) {
	code, stdout, stderr := runProgram(t, "", "watch", "--mock", "--interval", "0.5", "--timeout", "2")
	if code != exitFailure || strings.Count(stdout, "Moving now") < 2 || !strings.Contains(stderr, "--timeout 2s") {
		t.Errorf("exit code %d, errors %q, output\n%s", code, stderr, stdout)
	}
}

func TestWatchLine(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		stderr string
	}{
		"a short interval":  {[]string{"--mock", "--interval", "100ms"}, "--interval takes at least 500ms"},
		"a file":            {[]string{"--from", "x.snap"}, "nothing changes in a file"},
		"no cluster":        {nil, "--mock"},
		"a time that isn't": {[]string{"--mock", "--interval", "soon"}, "--interval"},
		"a pace that isn't": {[]string{"--mock", "--mock-time", "fast"}, "--mock-time takes"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"watch"}, c.args...)...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}
