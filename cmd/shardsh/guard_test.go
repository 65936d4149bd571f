package main

import (
	"strings"
	"testing"
)

// Ways around --read-only: none changes anything, on whatever connection.
func TestReadOnlyHasNoWayAround(t *testing.T) {
	p := startServe(t)
	for _, script := range writing(p) {
		code, stdout, stderr := runProgram(t, "", "--quiet", "--read-only", p.uri, "--eval", script)
		refused := strings.Contains(stderr, "--read-only refuses the command ")
		if code == 0 || !refused && !strings.HasPrefix(script, "mock.") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", script, code, stdout, stderr)
		}
	}
	code, stdout, stderr := runProgram(t, "", "--quiet", p.uri, "--eval", `db.getCollectionNames().length`)
	if code != 0 || stdout != "0\n" {
		t.Errorf("afterwards there are %q collections, stderr %q", stdout, stderr)
	}
}

// writing are all the ways to change something.
func writing(p *servedProgram) []string {
	write := `c.insertOne({ _id: "written" })`
	return []string{
		`db.` + write,
		`new Mongo("` + p.uri + `").getDB("test").` + write,
		`connect("` + p.uri + `test").` + write,
		`db.getMongo().getDB("test").` + write,
		`db.getSiblingDB("test").` + write,
		`db.getMongo().startSession().getDatabase("test").` + write,
		`db.getMongo().setReadPref("secondary"); db.` + write,
		`db.runCommand({ Insert: "c", documents: [{}] })`,
		`db.runCommand({ insert: "c", find: "c", documents: [{}] })`,
		`db.runCommand({ bulkWrite: 1, ops: [{ insert: 0, document: {} }], nsInfo: [{ ns: "test.c" }] })`,
		`db.c.bulkWrite([{ insertOne: { document: {} } }])`,
		`db.c.aggregate([{ $documents: [{}] }, { $out: "c" }]).toArray()`,
		`db.c.aggregate([{ $facet: { a: [{ $merge: "c" }] } }]).toArray()`,
		`db.system.js.insertOne({ _id: "f", value: 1 })`,
		`db.adminCommand({ eval: "db.c.insert({})" })`,
		`db.adminCommand({ applyOps: [{ op: "i", ns: "test.c", o: {} }] })`,
		`db.c.validate({ repair: 1 })`,
		`db.c.analyzeShardKey({ a: 1 })`,
		`db.setProfilingLevel(1)`,
		`db.getMongo().getCollection("test.c").insertOne({})`,
		`sh.stopBalancer()`, `sh.setBalancerState(false)`,
		`mock.crash("shard0")`, `mock.advance("1h")`, `mock.save("x")`,
	}
}

// What changes nothing passes.
func TestReadOnlyLetsPass(t *testing.T) {
	p := startServe(t)
	if code, _, stderr := runProgram(t, "", "--quiet", p.uri, "--eval", `db.createCollection("c")`); code != 0 {
		t.Fatal(stderr)
	}
	for _, script := range []string{
		`db.adminCommand({ getDefaultRWConcern: 1 })`, `db.adminCommand({ connPoolStats: 1 })`,
		`db.adminCommand({ features: 1 })`, `db.runCommand({ profile: -1 })`, `db.getProfilingStatus()`,
		`db.c.explain().aggregate([{ $out: "c" }])`, `db.c.explain("executionStats").remove({})`,
		`db.runCommand({ aggregate: "c", pipeline: [{ $out: "c" }], explain: true })`,
		`db.c.validate({ full: true })`, `db.c.find().close()`, `db.c.watch().close()`, `sh.status()`, `db.c.stats()`,
	} {
		if code, _, stderr := runProgram(t, "", "--quiet", "--read-only", p.uri, "--eval", script); code != 0 ||
			strings.Contains(stderr, "refuses") {
			t.Errorf("%s: exit code %d, stderr %q", script, code, stderr)
		}
	}
}

// What a release has no command for is not sent there, and not shown.
func TestDryRunOfReleasesWithoutACommand(t *testing.T) {
	for release, want := range map[string]string{
		"2.4": `would send to config: update settings: `, "3.4": `would send to admin: {"balancerStop":1,"maxTimeMS":60000}`,
	} {
		code, stdout, stderr := runProgram(t, "", "--mock", "--server-version", release, "--dry-run", "--quiet",
			"--eval", "sh.stopBalancer()")
		if code != exitOK || !strings.HasPrefix(stdout, want) || strings.Count(stdout, "would send") != 1 {
			t.Errorf("%s: exit code %d, %s%s", release, code, stdout, stderr)
		}
	}
	_, _, stderr := runProgram(t, "", "--mock", "--server-version", "2.4", "--read-only", "--quiet", "--eval", "sh.stopBalancer()")
	if !strings.Contains(stderr, "--read-only refuses the command update") {
		t.Errorf("refused as %s", stderr)
	}
}
