package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// policyFile writes a policy.
func policyFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runWith runs the program with variables and the policies of a machine.
func runWith(t *testing.T, policies string, variables map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	env := environment{
		args: args, streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &errs},
		process: process{policyDir: policies},
		getenv: func(name string) (string, bool) {
			value, is := variables[name]
			return value, is
		},
	}
	return env.run(t.Context()), out.String(), errs.String()
}

// A policy binds both faces, wherever it is from, and its refusals name the rule and the file.
func TestPolicyOfBothFaces(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	address := serve(t, heapedTopology).address
	for text, c := range map[string]struct{ line, call, rule string }{
		"verbs: [apply]":         {"balance --ns shop.orders", `sh.balance("shop.orders")`, "verbs"},
		"namespaces: [crm.*]":    {"balance --ns shop.orders", `sh.balance("shop.orders")`, "namespaces"},
		"namespaces: ['shop.*']": {"balance --all", `sh.balance({ all: true })`, "namespaces"},
		"limits: {max-moves: 2}": {"balance --ns shop.orders --max-moves 3",
			`sh.balance("shop.orders", { maxMoves: 3 })`, "limits.max-moves"},
		"verbs: [balance]":       {"drain --shard a", `sh.drain("a", { parallel: 1 })`, "verbs"},
		"require-approval: true": {"drain --shard a", `sh.drain("a", { parallel: 1 })`, "require-approval"},
		"verbs: [drain]":         {"quiesce --hold 1s", `sh.quiesce({ hold: "1s" })`, "verbs"},
	} {
		path := policyFile(t, "policy.yaml", text)
		line := strings.Fields(c.line)
		line = append([]string{line[0], address}, line[1:]...)
		if line[0] != "quiesce" {
			line = append(line, "--yes")
		}
		want := "refused by the rule " + c.rule + " of the policy " + path
		for name, run := range map[string]func(more ...string) (int, string, string){
			"option": func(of ...string) (int, string, string) {
				return runWith(t, t.TempDir(), nil, append(of, "--policy", path)...)
			},
			"variable": func(of ...string) (int, string, string) {
				return runWith(t, t.TempDir(), map[string]string{"SHARDSH_POLICY": path}, of...)
			},
			"machine": func(of ...string) (int, string, string) { return runWith(t, filepath.Dir(path), nil, of...) },
		} {
			if code, out, errs := run(line...); code != exitRefused || !strings.Contains(errs, want) {
				t.Errorf("%s by %s: %v: exit code %d, %s%s", text, name, line, code, out, errs)
			}
			if code, out, errs := run(address, "--quiet", "--eval", c.call); code == exitOK || !strings.Contains(errs, want) {
				t.Errorf("%s by %s: %s: exit code %d, %s%s", text, name, c.call, code, out, errs)
			}
		}
		if code, out, errs := runWith(t, filepath.Dir(path), nil, "why", address); code != exitOK {
			t.Errorf("why: exit code %d, %s%s", code, out, errs)
		}
	}
	if got := ownersOf(t, address); got != "aaaaaaa" {
		t.Errorf("something was moved: %s", got)
	}
}

// What is allowed is done, with the limits and the audit of the policy; no option gets
// around that of the machine.
func TestPolicyAllows(t *testing.T) {
	address := serve(t, heapedTopology).address
	audited := filepath.Join(t.TempDir(), "audit.jsonl")
	machine := policyFile(t, "policy.json", `{"limits": {"max-moves": 1}, "audit": "`+filepath.ToSlash(audited)+`"}`)
	mine := policyFile(t, "mine.yaml", "limits: {max-moves: 5}")
	code, out, errs := runWith(t, filepath.Dir(machine), nil, "balance", address, "--ns", "shop.orders", "--yes", "--policy", mine)
	if want := "the limit of 1 move is reached, set by policy " + machine; code != exitOK || !strings.Contains(out, want) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	code, out, errs = runWith(t, filepath.Dir(machine), nil, "history")
	if code != exitOK || strings.Count(out, "\n") != 2 || !strings.Contains(out, "run: shop.orders") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// A policy and an audit bind the calls of jobs as well. What only looks needs neither.
func TestPolicyOfJobs(t *testing.T) {
	address := serve(t, heapedTopology).address
	audited := filepath.Join(t.TempDir(), "audit.jsonl")
	refuses := policyFile(t, "refuses.yaml", "verbs: [apply]")
	start := []string{"drain", "start", address, "--shard", "a", "--pause-balancing", "--max-moves", "1"}
	code, out, errs := runWith(t, t.TempDir(), nil, append(start, "--policy", refuses)...)
	if want := "refused by the rule verbs of the policy " + refuses; code != exitRefused || !strings.Contains(errs, want) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	code, out, errs = runWith(t, filepath.Dir(refuses), nil, "drain", "status", address, "--shard", "a", "--json")
	if code != exitFindings || !strings.Contains(out, `"state": "none"`) {
		t.Errorf("after a refusal: exit code %d, %s%s", code, out, errs)
	}
	if code, out, errs = runWith(t, t.TempDir(), nil, append(start, "--audit", audited)...); code != exitFindings {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	code, out, errs = runWith(t, t.TempDir(), nil, "drain", "cancel", address, "--shard", "a", "--audit", audited)
	if code != exitOK {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	code, out, errs = runProgram(t, "", "history", "--audit", audited, "--verb", "drain")
	if code != exitOK || strings.Count(out, "moveRange shop.orders") != 1 || strings.Count(out, "  run: ") != 2 {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// Connections that a script opens by itself are bound like the first one, and without one.
func TestPolicyOfConnections(t *testing.T) {
	address, other := serve(t, heapedTopology).address, serve(t, heapedTopology).address
	refuses := policyFile(t, "policy.yaml", "verbs: [balance]")
	audited := filepath.Join(t.TempDir(), "audit.jsonl")
	const move = `.adminCommand({ moveChunk: "shop.orders", find: { x: 5 }, to: "b" })`
	for _, first := range []string{address, "--nodb"} {
		call := `connect("` + other + `")` + move
		code, out, errs := runWith(t, filepath.Dir(refuses), nil, first, "--quiet", "--eval", call)
		if code == exitOK || !strings.Contains(errs, "refused by the rule verbs of the policy "+refuses) {
			t.Errorf("%s: exit code %d, %s%s", first, code, out, errs)
		}
		if code, out, errs = runProgram(t, "", first, "--quiet", "--audit", audited, "--eval", call); code != exitOK {
			t.Errorf("%s: exit code %d, %s%s", first, code, out, errs)
		}
		if code, out, errs = runProgram(t, "", first, "--quiet", "--audit", "cluster", "--eval", call); code != exitOK {
			t.Errorf("%s: exit code %d, %s%s", first, code, out, errs)
		}
	}
	for source, args := range map[string][]string{"file": {"--audit", audited}, "changed cluster": {other}, "first cluster": {address}} {
		code, out, errs := runProgram(t, "", append([]string{"history"}, args...)...)
		if want := map[bool]int{true: 0, false: 2}[source == "first cluster"]; code != exitOK || strings.Count(out, "moveChunk") != want {
			t.Errorf("%s: exit code %d, %s%s", source, code, out, errs)
		}
	}
}

// A policy that can't be read, or is wrong, allows nothing.
func TestPolicyBroken(t *testing.T) {
	for path, reason := range map[string]string{
		policyFile(t, "p.yaml", "verb: [apply]"): "is wrong, and nothing is changed without it",
		filepath.Join(t.TempDir(), "none"):       "can't be read, and nothing is changed without it",
	} {
		for _, line := range []string{"balance --mock --all --yes --policy", "--mock --eval 1 --policy", "quiesce --mock --hold 1s --policy"} {
			code, _, errs := runProgram(t, "", append(strings.Fields(line), path)...)
			if code == exitOK || !strings.Contains(errs, reason) {
				t.Errorf("%s: exit code %d, %s", line, code, errs)
			}
		}
	}
}

// Single commands of scripts that change how data are distributed are written down, and
// held to the policies; what stops or gives back is always allowed.
func TestDirectCommands(t *testing.T) {
	address := serve(t, heapedTopology).address
	audited := filepath.Join(t.TempDir(), "audit.jsonl")
	const move = `sh.moveChunk("shop.orders", { x: 5 }, "b")`
	for policy, c := range map[string]struct{ call, rule string }{
		"verbs: [apply]":            {move, "verbs"},
		"verbs: [commands]":         {move, ""},
		"namespaces: [crm.x]":       {move, "namespaces"},
		"namespaces: [shop.orders]": {`sh.splitAt("shop.orders", { x: 7 })`, ""},
		"namespaces: ['shop.*']":    {`sh.enableSharding("crm")`, "namespaces"},
		"require-approval: true":    {move, "require-approval"},
		"verbs: [balance]":          {`sh.stopBalancer()`, ""},
		"verbs: [quiesce]":          {`sh.startBalancer()`, "verbs"},
		"verbs: [balance, apply]": {`db.adminCommand({ configureCollectionBalancing: "shop.orders", enableBalancing: true, ` +
			`defragmentCollection: true })`, "verbs"},
		"verbs: [balance, drain]": {`db.getSiblingDB("config").runCommand({ update: "settings", updates: [` +
			`{ q: { _id: "chunksize" }, u: { $set: { value: 4 } } }, { q: { _id: 1 }, u: { $set: { noBalance: false } } }] })`, "verbs"},
		"verbs: [drain]":             {`db.getSiblingDB("shop").notes.insertOne({ a: 1 })`, ""},
		"verbs: [presplit]":          {`db.getSiblingDB("config").settings.updateOne({ _id: "chunksize" }, { $set: { value: 64 } })`, "verbs"},
		"verbs: [defragment, apply]": {`sh.status().ok`, ""},
		"verbs: [quiesce, drain]": {`db.getSiblingDB("shop").orders.aggregate([{ $limit: 1 }, ` +
			`{ $merge: { into: { db: "config", coll: "tags" } } }])`, "verbs"},
		"namespaces: [shop.x]":       {`db.getSiblingDB("config").tags.aggregate([{ $out: "tags" }])`, "namespaces"},
		"verbs: [quiesce, apply]":    {`db.getSiblingDB("shop").orders.aggregate([{ $limit: 1 }, { $out: "copy" }]).toArray()`, ""},
		"verbs: [quiesce, presplit]": {`db.adminCommand({ addshardtozone: "a", zone: "north" })`, "verbs"},
		"verbs: [quiesce, balance]": {`db.getMongo().bulkWrite([{ namespace: "config.settings", name: "updateOne", ` +
			`filter: { _id: "chunksize" }, update: { $set: { value: 64 } } }])`, "verbs"},
	} {
		path := policyFile(t, "policy.yaml", policy)
		code, out, errs := runWith(t, filepath.Dir(path), nil, address, "--quiet", "--audit", audited, "--eval", c.call)
		want := "refused by the rule " + c.rule + " of the policy " + path
		if refused := strings.Contains(errs, want); refused != (c.rule != "") || refused == (code == exitOK) {
			t.Errorf("%s, %s: exit code %d, %s%s", policy, c.call, code, out, errs)
		}
	}
	code, out, errs := runProgram(t, "", "history", "--audit", audited)
	if code != exitOK || strings.Count(out, "\n") != 3 || strings.Count(out, "  commands  ") != 3 || strings.Contains(out, "notes") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	for _, want := range []string{`moveChunk shop.orders {"find":{"x":5},"to":"b"`, `split shop.orders {"middle":{"x":7}}`, "balancerStop"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
	before, err := os.ReadFile(audited)
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runProgram(t, "", address, "--quiet", "--dry-run", "--audit", audited, "--eval", move); code != exitOK {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if after, err := os.ReadFile(audited); err != nil || string(after) != string(before) {
		t.Errorf("a dry run is written down: %s, %v", after, err)
	}
	none := filepath.Join(t.TempDir(), "none", "audit")
	code, _, errs = runProgram(t, "", address, "--quiet", "--audit", none, "--eval", `sh.splitAt("shop.orders", { x: 8 })`)
	if code == exitOK || !strings.Contains(errs, "can't be written, and nothing is changed without it") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
