package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// wellTopology is a cluster with nothing to say against it.
const wellTopology = `{"shards": [{"id": "a"}, {"id": "b", "zones": ["EU"]}], "collections": [
  {"ns": "x.y", "key": {"k": 1}, "chunks": [
    {"shard": "a", "max": {"k": 0}, "bytes": "1GiB", "docs": 1024}, {"shard": "b", "bytes": "1GiB", "docs": 1024}]}]}`

// lopsided is one with all data of a collection on one shard, and a balancer that
// is not on.
const lopsided = `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"mode": "off"%s}}, "collections": [
  {"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "40GiB", "docs": 40960}]}]}`

// TestCheckRules: each rule finds what it is for on a cluster that it asks over
// the wire, and finds nothing on a cluster that is well.
func TestCheckRules(t *testing.T) {
	if testing.Short() {
		t.Skip("asks many clusters")
	}
	well := listen(t, wellTopology)
	window := strings.ReplaceAll(lopsided, `"mode": "off"%s`, `"activeWindow": {"start": "%s", "stop": "%s"}`)
	for _, c := range []struct {
		rule     string
		topology string
		setup    string // what brings it about, in the shell
		max      string
		finding  string // a part of its sentence
	}{
		{"shards", wellTopology, `mock.crash("b")`, "", "no answer from any member of its replica set"},
		{"balancer", wellTopology, `sh.stopBalancer(); mock.advance("2h")`, "1h", "the balancer is off, for 2h"},
		{"rounds", wellTopology, `mock.crash("b"); mock.advance("1m"); mock.restart("b")`, "", "of the balancer failed: "},
		{"moves", wellTopology, `sh.stopBalancer(); mock.crash("b"); try { sh.moveRange("x.y", "b", {k: MinKey()}) } catch {}
			mock.restart("b")`, "", "of the migrations from a to b failed in the last 10m"},
		{"compliant", strings.ReplaceAll(lopsided, "%s", ""), "", "", "x.y is not balanced (chunksImbalance)"},
		{"draining", wellTopology, `sh.stopBalancer(); sh.disableBalancing("x.y"); db.adminCommand({removeShard: "b"})`, "",
			"shard b is stuck draining; you must enable balancing of 1 collection"},
		{"zones", wellTopology, `sh.addShardToZone("a", "US"); sh.updateZoneKeyRange("x.y", {k: 0}, {k: 5}, "US");
			sh.stopBalancer(); db.getSiblingDB("config").shards.updateOne({_id: "a"}, {$unset: {tags: 1}})`, "",
			"zone US has ranges but no shard"},
		{"jumbo", strings.Replace(wellTopology, `"docs": 1024}]`, `"docs": 1024, "jumbo": true}]`, 1), "", "",
			"x.y has 1 jumbo chunk"},
		{"versions", wellTopology, `db.getSiblingDB("config").mongos.insertOne(
			{_id: "h:1", ping: mock.now(), mongoVersion: "7.0.5", up: Long(1), waiting: true})`, "", "7.0.5 and 8.0"},
		{"orphans", strings.ReplaceAll(wellTopology, `, "bytes": "1GiB", "docs": 1024`, ""), `sh.stopBalancer();
			for (let i = 1; i <= 30; i++) db.getSiblingDB("x").y.insertOne({k: -i});
			sh.moveChunk("x.y", {k: -1}, "b")`, "10", "x.y has 30 orphaned documents"},
		{"uneven", strings.ReplaceAll(lopsided, "%s", ""), "", "10%", "of x.y, 100% above its fair share of 20 GiB"},
		{"fragmentation", wellTopology, `sh.stopBalancer(); for (let i = 1; i < 60; i++) sh.splitAt("x.y", {k: i})`, "10%",
			"x.y has 61 chunks and needs 18"},
		{"chunks", wellTopology, `sh.splitAt("x.y", {k: 7})`, "1", "shard b has 2 chunks"},
		{"window", strings.NewReplacer("%s", "03:00").Replace(strings.Replace(window, "%s", "02:59", 1)), "", "1m",
			"in its window the balancer needs "},
		{"metadata", wellTopology, `db.getSiblingDB("config").tags.insertOne(
			{ns: "x.y", min: {b: 0}, max: {b: 10}, tag: "EU"})`, "", "the metadata of x.y is inconsistent: CorruptedZone"},
		{"collections", `{"shards": [{"id": "a"}]}`, "", "", "there is no sharded collection"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			address := listen(t, c.topology)
			if c.setup != "" {
				if code, out, stderr := runProgram(t, "", address, "--quiet", "--eval", c.setup+"; null"); code != exitOK {
					t.Fatalf("exit code %d: %s%s", code, out, stderr)
				}
			}
			args := []string{"check", "--rules", c.rule, "--json"}
			if c.max != "" {
				args = append(args, "--max", c.rule+"="+c.max)
			}
			code, stdout, stderr := runProgram(t, "", append(args, address)...)
			doc := checkDocument(t, stdout)
			if code != exitFindings || stderr != "" || doc.Status != "failed" {
				t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
			}
			if f := doc.Findings[0]; f.Rule != c.rule || !f.Fails || !strings.Contains(f.Sentence, c.finding) {
				t.Errorf("%+v, want %q", f, c.finding)
			}
			if c.rule == "collections" {
				return
			}
			if code, stdout, stderr := runProgram(t, "", append(args, well)...); code != exitOK {
				t.Errorf("on a cluster that is well: exit code %d, %s%s", code, stdout, stderr)
			}
		})
	}
}

// A rule that is asked alone, as text, which reads no numbers besides, knows what zones forbid.
func TestDrainingAloneKnowsZones(t *testing.T) {
	topology := writeFile(t, "topology.json", `{"shards": [{"id": "a", "zones": ["EU"], "draining": true}, {"id": "b"}],
		"databases": [{"name": "x", "primary": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "b"}],
		"zones": [{"zone": "EU", "min": {"k": 0}, "max": {"k": 5}}]}]}`)
	code, stdout, stderr := runProgram(t, "", "check", "--mock="+topology, "--rules", "draining")
	const want = "shard a is the only shard of zone EU, which has ranges of x.y: it can't be removed"
	if code != exitFindings || !strings.Contains(stdout, want) {
		t.Errorf("exit code %d, %s%s; want %s", code, stdout, stderr, want)
	}
}

// checkDocumentJSON is what tests read of the JSON.
type checkDocumentJSON struct {
	OK                       bool
	Status, Address, Version string
	Rules                    []struct{ Name, Status string }
	Findings                 []struct {
		Rule, Severity, Sentence, Excuse string
		Fails, Unknown                   bool
	}
	Collections []struct{ NS string }
	Shards      []struct{ Shard, Unreachable string }
	Error       *struct{ Name, Message string }
}

func checkDocument(t *testing.T, text string) (doc checkDocumentJSON) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return doc
}

// TestCheckShardDown: one shard does not answer, and the rest is checked.
func TestCheckShardDown(t *testing.T) {
	address := listen(t, strings.Replace(wellTopology, `"collections": [`, `"collections": [
	  {"ns": "x.a", "key": {"k": 1}, "chunks": [{"shard": "a", "jumbo": true}]},`, 1))
	if code, _, stderr := runProgram(t, "", address, "--quiet", "--eval", `mock.crash("b"); null`); code != exitOK {
		t.Fatal(stderr)
	}
	code, stdout, stderr := runProgram(t, "", "check", "--json", "--rules", "all", address)
	doc := checkDocument(t, stdout)
	if code != exitFindings || stderr != "" || doc.Shards[1].Unreachable == "" {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	status := map[string]string{}
	for _, r := range doc.Rules {
		status[r.Name] = r.Status
	}
	for rule, want := range map[string]string{
		"shards": "failed", "jumbo": "failed", "balancer": "passed", "draining": "passed", "zones": "passed",
		"chunks": "passed", "orphans": "unknown", "metadata": "unknown",
	} {
		if status[rule] != want {
			t.Errorf("%s: %s, want %s", rule, status[rule], want)
		}
	}
	if doc.Findings[0].Rule != "shards" || doc.Findings[0].Severity != "critical" {
		t.Errorf("%+v", doc.Findings[0])
	}
}

// TestCheckSeveral: each address has its answer, in its place.
func TestCheckSeveral(t *testing.T) {
	well, bad := listen(t, wellTopology), listen(t, strings.ReplaceAll(lopsided, "%s", ""))
	for name, c := range map[string]struct {
		addresses []string
		code      int
		statuses  []string
	}{
		"all well":           {[]string{well, well}, exitOK, []string{"passed", "passed"}},
		"one with findings":  {[]string{well, bad, "127.0.0.1:1"}, exitFindings, []string{"passed", "failed", "unknown"}},
		"one that is silent": {[]string{"127.0.0.1:1", well}, exitFailure, []string{"unknown", "passed"}},
		"many at once":       {slices.Repeat([]string{well}, 20), exitOK, slices.Repeat([]string{"passed"}, 20)},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"check", "--json"}, c.addresses...)...)
			var docs []checkDocumentJSON
			if err := json.Unmarshal([]byte(stdout), &docs); err != nil || code != c.code || stderr != "" {
				t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
			}
			for i, doc := range docs {
				if doc.Status != c.statuses[i] || doc.Address != "mongodb://"+c.addresses[i] || doc.OK != (doc.Status == "passed") {
					t.Errorf("%d: %+v", i, doc)
				}
			}
		})
	}
	code, stdout, _ := runProgram(t, "", "check", "--quiet", well, bad)
	want := "mongodb://" + well + "\nmongodb://" + bad + "\nx.y  NOT balanced: chunksImbalance\n"
	if code != exitFindings || !strings.HasPrefix(stdout, want) {
		t.Errorf("exit code %d: %q", code, stdout)
	}
}

// TestCheckWait: in virtual time the balancer gets done while somebody waits.
func TestCheckWait(t *testing.T) {
	on := writeFile(t, "on.json", strings.ReplaceAll(strings.Replace(lopsided, `"off"`, `"full"`, 1), "%s", ""))
	off := writeFile(t, "off.json", strings.ReplaceAll(lopsided, "%s", ""))
	args := []string{"check", "--rules", "compliant", "--wait", "4h", "--every", "1m"}
	code, stdout, stderr := runProgram(t, "", append(args, "--mock="+on)...)
	if code != exitOK || !strings.HasSuffix(stdout, "OK\n") ||
		!strings.HasPrefix(stderr, "Waiting up to 4h0m0s more: FAILED: x.y is not balanced (chunksImbalance)\n") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	code, _, stderr = runProgram(t, "", append(args, "--quiet", "--mock="+off)...)
	if code != exitFindings || stderr != "" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	// What can't be reached is tried again, too.
	code, stdout, stderr = runProgram(t, "", "check", "--wait", "50ms", "--every", "20ms", "127.0.0.1:1")
	if code != exitFailure || !strings.Contains(stderr, "Waiting up to ") ||
		!strings.HasPrefix(stdout, "UNKNOWN: can't reach") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

// TestCheckAsksForNoMore: a rule costs its own commands, and none reads the chunks.
func TestCheckAsksForNoMore(t *testing.T) {
	cluster := serve(t, wellTopology)
	if code, stdout, stderr := runProgram(t, "", "check", "--rules", "compliant", cluster.address); code != exitOK {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	var sent []string
	for _, c := range cluster.commands {
		if c = strings.ToLower(c); c != "ismaster" && c != "hello" && c != "endsessions" {
			sent = append(sent, c)
		}
	}
	want := []string{"buildinfo", "aggregate", "find", "balancerstatus", "find", "find", "balancercollectionstatus"}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %v, want %v", sent, want)
	}
}

func TestCheckBaselineFile(t *testing.T) {
	file := writeFile(t, "before.json", "")
	address := listen(t, strings.ReplaceAll(lopsided, "%s", ""))
	if code, _, stderr := runProgram(t, "", "check", address, "--json", "-o", file); code != exitFindings || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	code, stdout, stderr := runProgram(t, "", "check", address, "--baseline", file)
	if code != exitOK || stderr != "" ||
		!strings.Contains(stdout, "NOT balanced: chunksImbalance (as in the baseline)\n") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := runProgram(t, "", "check", address, "--baseline", "/nowhere/x"); code != exitUsage ||
		!strings.Contains(stderr, "--baseline") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
