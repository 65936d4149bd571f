package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
)

// looked is a verb that changes nothing as its subcommand and as its helper, whose options
// stand as they are.
type looked struct {
	line []string
	call string
	// reason is what both fail with, or else the result is to have part.
	reason, part string
}

// faces runs both on one cluster.
func (l looked) faces(t *testing.T, address string) (results [2]map[string]any, outputs [2]string) {
	t.Helper()
	_, stdout, stderr := runProgram(t, "", slices.Concat(l.line, []string{address, "--json"})...)
	results[0], outputs[0] = lastDocument(stdout), stdout+stderr
	_, stdout, stderr = runProgram(t, "", address, "--quiet", "--json=relaxed", "--eval", l.call)
	results[1], outputs[1] = lastDocument(stdout), stdout+stderr
	for i, result := range results {
		results[i], _ = plainNumbers(result).(map[string]any)
	}
	return results, outputs
}

// plainNumbers returns a value of JSON without what two reads of a cluster never have in
// common, and with the numbers of extended JSON as numbers.
func plainNumbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range []string{"id", "time", "at", "earliest", "expected", "latest"} {
			delete(value, name)
		}
		if _, isPlan := value["steps"]; isPlan {
			delete(value, "hash") // which has the time
		}
		for name, of := range value {
			if strings.HasPrefix(name, "$number") && len(value) == 1 {
				return json.Number(of.(string))
			}
			value[name] = plainNumbers(of)
		}
	case []any:
		for i, of := range value {
			value[i] = plainNumbers(of)
		}
	}
	return value
}

// inJSON has a helper return what JSON.stringify writes of its result.
func inJSON(call string) string { return "JSON.parse(JSON.stringify(" + call + "))" }

// Each verb that looks returns the same as a subcommand and as a helper.
func TestLooksHaveTwoFaces(t *testing.T) {
	address := serve(t, heapedTopology).address
	runProgram(t, "", address, "--quiet", "--eval", `db.getSiblingDB("shop").notes.insertOne({ a: 1 })`)
	own := filepath.ToSlash(writeFile(t, "own.yaml", ownFaults))
	for _, c := range []looked{
		{line: []string{"why"}, call: `sh.why()`, part: "shop.orders"},
		{line: []string{"why", "--ns", "shop.orders"}, call: `sh.why("shop.orders")`, part: "shop.orders"},
		{line: []string{"why", "--shard", "a"}, call: `sh.why({ shard: "a" })`, part: "shop.orders"},
		{line: []string{"why", "--ns", "shop.orders", "--key", `{"x": 1500}`}, call: `sh.why("shop.orders", { x: 1500 })`,
			part: `"chunk"`},
		{line: []string{"why", "--ns", "shop.notes"}, call: `sh.why("shop.notes")`,
			part: "shop.notes is not sharded: all of it"},
		{line: []string{"why", "--advisories", own}, call: `sh.why({ advisories: "` + own + `" })`, part: "SERVER-105047"},
		{line: []string{"plan", "--advisories", own}, call: inJSON(`sh.plan({ advisories: "` + own + `" })`), part: `"moves":3`},
		{line: []string{"plan"}, call: inJSON(`sh.plan()`), part: `"moves":3`},
		{line: strings.Fields("plan --ns shop.orders --goal drain=a --max-bytes 250MB --model even --seed 7"),
			call: inJSON(`sh.plan("shop.orders", { goal: { drain: "a" }, maxBytes: "250MB", model: "even", seed: 7 })`),
			part: "planLimited"},
		{line: []string{"plan", "--max-moves", "1", "--max-rounds", "1", "--max-time", "1h", "--ignore-window"},
			call: inJSON(`sh.plan({ maxMoves: 1, maxRounds: 1, maxTime: "1h", ignoreWindow: true })`), part: `"moves":1`},
		{line: []string{"plan", "--ns", "shop.orders", "--by", "auto", "--disk-limit", "80%"},
			call: inJSON(`sh.plan("shop.orders", { by: "auto", diskLimit: "80%" })`), part: `"recommended"`},
		{line: []string{"plan", "--ns", "shop.orders", "--by", "auto", "--goal", "drain=a", "--seed", "3"},
			call: inJSON(`sh.plan("shop.orders", { by: "auto", goal: { drain: "a" }, seed: 3 })`), part: `"reshard"`},
		{line: []string{"plan", "--for", "5s"}, call: inJSON(`sh.plan({ for: "5s" })`), part: "planLimited"},
		{line: []string{"forecast"}, call: inJSON(`sh.forecast()`), part: "balancerOff"},
		{line: []string{"forecast", "--ns", "shop.orders", "--goal", "drain=a", "--seed", "3", "--time-zone", "UTC"},
			call: inJSON(`sh.forecast("shop.orders", { goal: { drain: "a" }, seed: 3, timeZone: "UTC" })`),
			part: "as if the draining of a began now"},
		{line: []string{"simulate", "--change", "addShard 2; drain a", "--alternative", "chunkSize 256"},
			call: inJSON(`sh.whatIf(c => c.addShard(2).drain("a"), c => c.chunkSize(256))`), part: `"addShard 2"`},
		{line: []string{"simulate", "--change", "drain a", "--model", "skewed", "--seed", "5", "--time-zone", "UTC"},
			call: inJSON(`sh.whatIf(c => c.drain("a"), { model: "skewed", seed: 5, timeZone: "UTC" })`), part: `"drain a"`},
	} {
		t.Run(c.call, func(t *testing.T) {
			results, outputs := c.faces(t, address)
			line, call := asJSON(t, results[0]), asJSON(t, results[1])
			if line != call {
				t.Errorf("the subcommand returns\n%s\nthe helper\n%s", line, call)
			}
			if !strings.Contains(line, c.part) {
				t.Errorf("no %s in\n%s\n%s", c.part, line, outputs)
			}
		})
	}
}

// Each verb that looks refuses the same as a subcommand and as a helper, with the same
// reason.
func TestLooksRefuseAlike(t *testing.T) {
	address := serve(t, heapedTopology).address
	for _, c := range []looked{
		{line: []string{"why", "--shard", "a", "--zone", "b"}, call: `sh.why({ shard: "a", zone: "b" })`,
			reason: "ns, shard and zone exclude each other"},
		{line: []string{"why", "--key", "{}"}, call: `sh.why(null, {})`, reason: "key needs ns: it is the key of a chunk"},
		{line: []string{"why", "--ns", "shop.orders", "--key", `{"y": 1}`}, call: `sh.why("shop.orders", { y: 1 })`,
			reason: "key: not a full shard key"},
		{line: []string{"why", "--ns", "shop.nope"}, call: `sh.why("shop.nope")`, reason: "shop.nope is not "},
		{line: []string{"why", "--shard", "nope"}, call: `sh.why({ shard: "nope" })`, reason: "nope"},
		{line: []string{"why", "--zone", "nope"}, call: `sh.why({ zone: "nope" })`, reason: "nope"},
		{line: []string{"plan", "--model", "round"}, call: `sh.plan({ model: "round" })`,
			reason: `model: "round" is not a valid model`},
		{line: []string{"plan", "--by", "auto"}, call: `sh.plan({ by: "auto" })`, reason: "one collection"},
		{line: []string{"plan", "--ns", "shop.orders", "--by", "auto", "--goal", "zones"},
			call: `sh.plan("shop.orders", { by: "auto", goal: "zones" })`, reason: "goals balance and drain"},
		{line: []string{"plan", "--ns", "shop.nope", "--by", "auto"}, call: `sh.plan("shop.nope", { by: "auto" })`, reason: "shop.nope"},
		{line: []string{"plan", "--goal", "peace"}, call: `sh.plan({ goal: "peace" })`, reason: "goal"},
		{line: []string{"plan", "--goal", "drain=nope"}, call: `sh.plan({ goal: { drain: "nope" } })`, reason: "nope"},
		{line: []string{"plan", "--ns", "shop.nope"}, call: `sh.plan("shop.nope")`, reason: "shop.nope"},
		{line: []string{"plan", "--for", "soon"}, call: `sh.plan({ for: "soon" })`, reason: "soon"},
		{line: []string{"forecast", "--time-zone", "Mars"}, call: `sh.forecast({ timeZone: "Mars" })`,
			reason: `timeZone: "Mars" is not a valid time zone, such as UTC, +02:00 or Europe/Berlin`},
		{line: []string{"forecast", "--goal", "consolidate"}, call: `sh.forecast({ goal: "consolidate" })`,
			reason: "goal consolidate has no forecast: the balancer does not do that; see shardsh plan"},
		{line: []string{"forecast", "--goal", "drain=nope"}, call: `sh.forecast({ goal: { drain: "nope" } })`,
			reason: "nope"},
		{line: []string{"forecast", "--ns", "shop.nope"}, call: `sh.forecast("shop.nope")`, reason: "shop.nope is not "},
		{line: []string{"simulate"}, call: `sh.whatIf({})`, reason: "simulate needs change or alternative"},
		{line: []string{"simulate", "--change", "drain nope"}, call: `sh.whatIf(c => c.drain("nope"))`,
			reason: `drain nope: the cluster has no shard "nope"`},
		{line: []string{"simulate", "--change", "adShard"}, call: `sh.whatIf(c => c.adShard())`,
			reason: "did you mean addShard?"},
		{line: []string{"simulate", "--change", "addShard", "--model", "skewed=9"},
			call: `sh.whatIf(c => c.addShard(), { model: "skewed=9" })`, reason: "model: \"skewed=9\" is not a valid model"},
		{line: []string{"simulate", "--change", "addShard", "--time-zone", "Mars"},
			call: `sh.whatIf(c => c.addShard(), { timeZone: "Mars" })`, reason: `timeZone: "Mars" is not`},
	} {
		t.Run(c.call, func(t *testing.T) {
			_, outputs := c.faces(t, address)
			for face, got := range outputs {
				if got := withoutFlags(got); !strings.Contains(got, c.reason) {
					t.Errorf("%s gives %s", []string{strings.Join(c.line, " "), c.call}[face], got)
				}
			}
		})
	}
}

// Each verb that looks has the same options as a subcommand and as a helper, but for those
// that say where a subcommand reads and how it prints.
func TestLooksHaveTheSameOptions(t *testing.T) {
	process := []string{"from", "sizes", "mock", "output", "json", "outFile", "all", "long", "why", "timeout", "quiet", "help"}
	for verb, c := range map[string]struct {
		groups    []cmdline.Group
		call      string
		arguments []string
	}{
		"why":      {new(whyFlags).groups(), `sh.why({ zzz: 1 })`, []string{"ns", "key"}},
		"plan":     {new(planFlags).groups(), `sh.plan({ zzz: 1 })`, []string{"ns"}},
		"forecast": {new(forecastFlags).groups(), `sh.forecast({ zzz: 1 })`, []string{"ns"}},
		"simulate": {new(simulateFlags).groups(), `sh.whatIf(c => c, { zzz: 1 })`, []string{"change", "alternative"}},
	} {
		flags := map[string]bool{}
		for _, g := range c.groups {
			if g.Title == "Options" {
				g.Flags.VisitAll(func(f *pflag.Flag) { flags[keyOf(f.Name)] = !f.Hidden })
			}
		}
		maps.DeleteFunc(flags, func(name string, shown bool) bool {
			return !shown || slices.Contains(process, name) || slices.Contains(c.arguments, name)
		})
		_, stdout, stderr := runProgram(t, "", "--mock", "--quiet", "--eval", c.call)
		_, known, _ := strings.Cut(stdout+stderr, "(options: ")
		known, _, _ = strings.Cut(known, ")")
		options := strings.Split(known, ", ")
		slices.Sort(options)
		if !slices.Equal(slices.Sorted(maps.Keys(flags)), options) {
			t.Errorf("%s has the flags\n%v\nand the helper the options\n%v", verb, slices.Sorted(maps.Keys(flags)), options)
		}
	}
}
