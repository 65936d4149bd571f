package main

import (
	"encoding/json"
	"maps"
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
func (c looked) faces(t *testing.T, address string) (results [2]map[string]any, outputs [2]string) {
	t.Helper()
	_, stdout, stderr := runProgram(t, "", slices.Concat(c.line, []string{address, "--json"})...)
	results[0], outputs[0] = lastDocument(stdout), stdout+stderr
	_, stdout, stderr = runProgram(t, "", address, "--quiet", "--json=relaxed", "--eval", c.call)
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

// Each verb that looks returns the same as a subcommand and as a helper.
func TestLooksHaveTwoFaces(t *testing.T) {
	address := serve(t, heapedTopology).address
	runProgram(t, "", address, "--quiet", "--eval", `db.getSiblingDB("shop").notes.insertOne({ a: 1 })`)
	for _, c := range []looked{
		{line: []string{"why"}, call: `sh.why()`, part: "shop.orders"},
		{line: []string{"why", "--ns", "shop.orders"}, call: `sh.why("shop.orders")`, part: "shop.orders"},
		{line: []string{"why", "--shard", "a"}, call: `sh.why({ shard: "a" })`, part: "shop.orders"},
		{line: []string{"why", "--ns", "shop.orders", "--key", `{"x": 1500}`}, call: `sh.why("shop.orders", { x: 1500 })`,
			part: `"chunk"`},
		{line: []string{"why", "--ns", "shop.notes"}, call: `sh.why("shop.notes")`, part: "shop.notes is not sharded: all of it"},
	} {
		t.Run(c.call, func(t *testing.T) {
			results, outputs := c.faces(t, address)
			line, call := asJSON(t, results[0]), asJSON(t, results[1])
			if line != call {
				t.Errorf("the subcommand returns\n%s\nthe helper\n%s", line, call)
			}
			if !strings.Contains(line, c.part) {
				t.Errorf("no %s in\n%s", c.part, outputs)
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
	process := []string{"from", "mock", "output", "json", "outFile", "all", "timeout", "quiet", "help"}
	for verb, c := range map[string]struct {
		groups    []cmdline.Group
		call      string
		arguments []string
	}{
		"why": {new(whyFlags).groups(), `sh.why({ zzz: 1 })`, []string{"ns", "key"}},
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
		_, known, _ := strings.Cut(stdout+stderr, "(it knows ")
		known, _, _ = strings.Cut(known, ")")
		options := strings.Split(known, ", ")
		slices.Sort(options)
		if !slices.Equal(slices.Sorted(maps.Keys(flags)), options) {
			t.Errorf("%s has the flags\n%v\nand the helper the options\n%v", verb, slices.Sorted(maps.Keys(flags)), options)
		}
	}
}
