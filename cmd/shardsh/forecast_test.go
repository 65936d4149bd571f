package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// The mock's migrations of the history make the basis; a script asks for the same.
func TestForecast(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	for name, c := range map[string]struct {
		args []string
		want []string // parts of standard output, in order
	}{
		"switched off": {nil, []string{"not balanced as things stand: the balancer is off; if it were on,",
			"Because\n", "the balancer is off (balancerOff)\n    sh.startBalancer()", "Basis\n", "no migration in the change log"}},
		"a drain": {[]string{"--goal", "drain=beta"}, []string{"shard beta not empty as things stand",
			"as if the draining of beta began now"}},
		"a collection": {[]string{"--ns", "shop.*", "--goal", "zones"}, []string{
			"shop.orders in the zones: nothing to do"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"forecast", "--quiet", "--mock=" + topology}, c.args...)
			code, stdout, stderr := runProgram(t, "", args...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit code %d, errors %q", code, stderr)
			}
			rest := stdout
			for _, part := range c.want {
				i := strings.Index(rest, part)
				if i < 0 {
					t.Fatalf("no %q in %q", part, stdout)
				}
				rest = rest[i+len(part):]
			}
		})
	}
	code, stdout, _ := runProgram(t, "", "forecast", "--mock="+topology, "--json", "--quiet")
	var f struct {
		Headline                string
		LowMS, LikelyMS, HighMS int64
		At, Latest              time.Time
		IfSwitchedOn            bool
	}
	if err := json.Unmarshal([]byte(stdout), &f); code != exitOK || err != nil || !f.IfSwitchedOn || f.LowMS >= f.LikelyMS ||
		f.LikelyMS >= f.HighMS || f.Latest.Sub(f.At).Milliseconds() != f.HighMS {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
}

func TestForecastLine(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no collection": {[]string{"--ns", "shop.order"}, exitUsage,
			"shop.order is not a sharded collection of this cluster; did you mean"},
		"no shard":      {[]string{"--goal", "drain=delta"}, exitUsage, `no shard "delta"`},
		"no goal":       {[]string{"--goal", "rest"}, exitUsage, `"rest" is not a valid goal`},
		"a plan's goal": {[]string{"--goal", "consolidate"}, exitUsage, "shardsh plan"},
		"no zone":       {[]string{"--time-zone", "Mars"}, exitUsage, `--time-zone: "Mars" is not a valid time zone, such as UTC, +02:00 or Europe/Berlin`},
		"no format":     {[]string{"--output", "xml"}, exitUsage, "--output takes text, json"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := runProgram(t, "", append([]string{"forecast", "--quiet", "--mock=" + topology}, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, errors %q", code, stderr)
			}
		})
	}
}
