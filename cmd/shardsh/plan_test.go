package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/plan"
)

// manyMovesTopology has 400 chunks of 64 MiB on one of three shards. Data moves while
// that has 384 MiB more than the smallest, 6 chunks: after 264 moves it has 136 and
// each of the others 132.
func manyMovesTopology() string {
	var b strings.Builder
	b.WriteString(`{"shards": [{"id": "alpha"}, {"id": "beta"}, {"id": "gamma"}], "settings": {"balancer": {"mode": "off"}},
 "collections": [{"ns": "shop.orders", "key": {"customer": 1}, "chunks": [`)
	for i := range 400 {
		if i > 0 {
			b.WriteString(`{"shard": "alpha", "bytes": "64MiB", "docs": 1024, "min": {"customer": ` + itoa(i) + `}`)
		} else {
			b.WriteString(`{"shard": "alpha", "bytes": "64MiB", "docs": 1024`)
		}
		if i < 399 {
			b.WriteString(`, "max": {"customer": ` + itoa(i+1) + `}},`)
		}
	}
	return b.String() + "}]}]}"
}

func itoa(i int) string {
	text, _ := json.Marshal(i)
	return string(text)
}

func TestPlan(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	many := writeFile(t, "many.json", manyMovesTopology())
	for name, c := range map[string]struct {
		args []string
		want []string // parts of standard output, in order
	}{
		"balance": {[]string{"--mock=" + topology, "--max-moves", "1"}, []string{
			": balance, all collections, for the cluster as of", "1 move in 1 round, 128 MiB", "the goal is not reached by then",
			"alpha              2      2        4 GiB", "move  shop.orders  alpha to beta  128 MiB  chunksImbalance  part of [MinKey] to [0]",
			"Left\n", "(planLimited)"}},
		"reasons": {[]string{"--mock=" + topology, "--max-moves", "1", "--why"}, []string{
			"chunksImbalance  part of [MinKey] to [0]\n", "a difference of", "threshold 384", "Left\n"}},
		"drain": {[]string{"--mock=" + topology, "--goal", "drain=beta"}, []string{"the goal can't be reached (drain beta",
			"no shard can receive chunks of zone EU", "(noRecipient)"}},
		"zones":            {[]string{"--mock=" + topology, "--goal", "zones"}, []string{"nothing to do (zones, all collections).\n"}},
		"consolidate":      {[]string{"--mock=" + many, "--goal", "consolidate"}, []string{"1 merge in 1 round, 0 B"}},
		"the first steps":  {[]string{"--mock=" + many}, []string{"Steps\n", "    20  move", "… 244 more"}},
		"some":             {[]string{"--mock=" + many, "--ns", "shop.*", "--max-bytes", "1GiB"}, []string{"balance, shop.*", "16 moves"}},
		"an empty cluster": {[]string{"--mock"}, []string{"nothing to do (balance, all collections).\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"plan", "--quiet"}, c.args...)...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit code %d, errors %q", code, stderr)
			}
			rest := stdout
			for _, part := range c.want {
				i := strings.Index(rest, part)
				if i < 0 {
					t.Fatalf("no %q in %s", part, stdout)
				}
				rest = rest[i+len(part):]
			}
		})
	}
}

// The faces of a plan: the file is read back, all steps are shown, and equal runs
// make equal plans.
func TestPlanOutputs(t *testing.T) {
	many := writeFile(t, "many.json", manyMovesTopology())
	file := filepath.Join(t.TempDir(), "plan.json")
	code, stdout, stderr := runProgram(t, "", "plan", "--quiet", "--mock="+many, "--json", "-o", file)
	if code != exitOK || stdout != "" || stderr != "" {
		t.Fatalf("exit code %d, output %q, errors %q", code, stdout, stderr)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := plan.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if p.Totals.Moves < 100 || !p.ReachesGoal || p.SizeModel != plan.Measured {
		t.Errorf("%+v, reached %v, model %s", p.Totals, p.ReachesGoal, p.SizeModel)
	}
	_, all, _ := runProgram(t, "", "plan", "--quiet", "--mock="+many, "--all")
	if n := strings.Count(all, "  move  shop.orders  "); n != p.Totals.Moves || strings.Contains(all, "…") {
		t.Errorf("%d of %d moves are shown", n, p.Totals.Moves)
	}
	_, script, _ := runProgram(t, "", "plan", "--quiet", "--mock="+many, "--output", "script")
	if n := strings.Count(script, "\nmove("); n != p.Totals.Moves {
		t.Errorf("%d of %d moves are in the script", n, p.Totals.Moves)
	}
}

func TestPlanLine(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no cluster":          {nil, exitUsage, "needs the address of a cluster"},
		"no collection":       {[]string{"--mock", "--ns", "a.b"}, exitUsage, "a.b is not a sharded collection of this cluster"},
		"no goal":             {[]string{"--mock", "--goal", "peace"}, exitUsage, `"peace" is not a valid goal`},
		"a drain of nothing":  {[]string{"--mock", "--goal", "drain"}, exitUsage, "drain=SHARD"},
		"a drain of nobody":   {[]string{"--mock", "--goal", "drain=s9"}, exitUsage, `no shard "s9"`},
		"no directory":        {[]string{"--mock", "-o", "nowhere/p.json"}, exitUsage, "there is no directory nowhere"},
		"a limit":             {[]string{"--mock", "--max-moves=-1"}, exitUsage, "--max-moves is -1"},
		"a size":              {[]string{"--mock", "--max-bytes", "many"}, exitUsage, "not a size"},
		"a model":             {[]string{"--mock", "--model", "guess"}, exitUsage, "--model"},
		"a format":            {[]string{"--mock", "--output", "xml"}, exitUsage, "--output takes text, json, script"},
		"two ways to be told": {[]string{"--mock", "--json", "--output", "script"}, exitUsage, "exclude each other"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"plan"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}
