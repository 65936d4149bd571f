package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const lopsidedTopology = `{"shards": [{"id": "alpha"}, {"id": "beta", "zones": ["EU"]}, {"id": "gamma"}],
 "settings": {"balancer": {"mode": "off"}},
 "collections": [{"ns": "shop.orders", "key": {"customer": 1},
  "zones": [{"zone": "EU", "min": {"customer": 0}, "max": {"customer": 10}}],
  "chunks": [{"shard": "alpha", "max": {"customer": 0}, "bytes": "2GiB", "docs": 1024},
   {"shard": "beta", "max": {"customer": 10}}, {"shard": "alpha", "bytes": "2GiB", "docs": 1024}]}]}`

// Following the remedy resolves it: here, as far as a script can.
func TestWhy(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	file := filepath.Join(t.TempDir(), "why.txt")
	for name, c := range map[string]struct {
		args []string
		want []string // parts of standard output, in order
	}{
		"the cluster": {nil, []string{"shop.orders is not balanced (chunksImbalance): alpha has 4 GiB", "the balancer is off.\n",
			"  warning   the balancer is off (balancerOff)\n            sh.startBalancer()\n", "Then by itself\n", "(notBalanced)"}},
		"the whole": {[]string{"--long"}, []string{"shop.orders is not balanced (chunksImbalance): alpha has 4 GiB",
			"the balancer is off.\n", "Wrong\n", "(notBalanced)", "Because\n", "(balancerOff)", "operator: sh.startBalancer()"}},
		"a collection": {[]string{"--ns", "shop.orders"}, []string{"shop.orders is not balanced", "balancerOff",
			"Over the shards: the ideal is 1.33 GiB each", "384", "alpha", "4 GiB", "+2.66 GiB", "gamma", "-1.33 GiB"}},
		"a shard": {[]string{"--shard", "alpha"}, []string{"shop.orders is not balanced", "balancerOff"}},
		"a zone":  {[]string{"--zone", "EU"}, []string{"shop.orders is not balanced", "balancerOff"}},
		"a chunk": {[]string{"--ns", "shop.orders", "--key", `{"customer": 5}`}, []string{
			"the chunk is on beta, in zone EU", "alpha  no   does not belong to zone EU", "beta   no   has the chunk",
			"Because\n", "balancerOff"}},
		"another chunk": {[]string{"--ns", "shop.orders", "--key", `{"customer": -5}`}, []string{
			"the chunk is on alpha, and would move to beta, but the balancer is off", "gamma  yes  can receive it"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"why", "--quiet", "--mock=" + topology}, c.args...)
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
			code, stdout, _ = runProgram(t, "", append(args, "--json")...)
			var answer struct {
				Healthy bool
				Causes  []struct{ Code string }
			}
			if err := json.Unmarshal([]byte(stdout), &answer); code != exitOK || err != nil ||
				answer.Healthy || answer.Causes[0].Code != "balancerOff" {
				t.Errorf("exit code %d, %v: %s", code, err, stdout)
			}
		})
	}
	code, stdout, _ := runProgram(t, "", "why", "--mock", "-o", file)
	text, err := os.ReadFile(file)
	if code != exitOK || stdout != "" || err != nil || string(text) != "nothing is wrong.\n" {
		t.Errorf("exit code %d, output %q, file %q, %v", code, stdout, text, err)
	}
}

func TestWhyLine(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no collection":      {[]string{"--ns", "shop.order"}, exitUsage, "shop.order is not a sharded collection"},
		"no shard":           {[]string{"--shard", "delta"}, exitUsage, `no shard "delta"`},
		"no zone":            {[]string{"--zone", "US"}, exitUsage, `no zone "US"`},
		"two subjects":       {[]string{"--zone", "EU", "--ns", "shop.orders"}, exitUsage, "exclude each other"},
		"a key alone":        {[]string{"--key", "{}"}, exitUsage, "--key needs --ns"},
		"a key of another":   {[]string{"--ns", "shop.orders", "--key", `{"x": 1}`}, exitUsage, "customer"},
		"a key that is none": {[]string{"--ns", "shop.orders", "--key", `{`}, exitUsage, "not valid extended JSON"},
		"an unknown format":  {[]string{"--output", "xml"}, exitUsage, "--output takes text, json"},
		"a file nowhere":     {[]string{"-o", "/nowhere/x"}, exitUsage, "/nowhere/x"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"why", "--mock=" + topology}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}
