package testrunner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/bindings/script"
	"shardsh/bindings/testrunner"
)

// orders is the head of a suite: a collection of ten documents on one shard.
const orders = `
const furnish = () => {
  sh.enableSharding("app", "shard0")
  sh.shardCollection("app.orders", { c: 1 })
  for (let i = 0; i < 10; i++) db.getSiblingDB("app").orders.insertOne({ c: i })
}
const count = () => db.getSiblingDB("app").orders.countDocuments()
`

// files writes files into a folder and returns the paths of those with tests.
func files(t *testing.T, texts map[string]string) (tests []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests, err := testrunner.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// run runs tests and returns what came of them.
func run(t *testing.T, texts map[string]string, o testrunner.Options) testrunner.Report {
	t.Helper()
	o.Files = files(t, texts)
	o.ErrorText = func(err error) string {
		if thrown, ok := errors.AsType[*script.Error](err); ok {
			return thrown.Text()
		}
		return err.Error()
	}
	return testrunner.Run(t.Context(), o)
}

// outcome is a line for each test: its title and what came of it, with the first
// line of what is wrong.
func outcome(r testrunner.Report) []string {
	var lines []string
	for _, f := range r.Files {
		if f.Problem != nil {
			lines = append(lines, "file: "+first(f.Problem.Text))
		}
		for _, test := range f.Tests {
			line := test.Title() + ": " + string(test.Status)
			if test.Release != "" {
				line += " on " + test.Release
			}
			for _, p := range test.Problems {
				line += " [" + strings.TrimPrefix(p.During+": ", ": ") + first(p.Text) + "]"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Each file has the outcome that a reader would expect.
func TestFiles(t *testing.T) {
	release := func(text string) catalog.Release {
		r, err := catalog.ParseRelease(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, tt := range map[string]struct {
		file    string // t_test.js
		more    map[string]string
		options testrunner.Options
		want    []string
	}{
		"pass and fail": {file: `
it("adds", () => expect(1 + 1).toBe(2))
describe("outer", () => { describe("inner", () => { it("fails", () => expect(1).toBe(2)) }) })`,
			want: []string{"adds: passed", "outer > inner > fails: failed [expect(received).toBe(expected)]"}},
		"a syntax error":                  {file: "it('x', () => { ", want: []string{"file: SyntaxError: Unexpected end of input"}},
		"an error while the file is read": {file: "nope()", want: []string{"file: ReferenceError: nope is not defined"}},
		"an error in a test": {file: `it("x", () => nope())`, want: []string{
			"x: failed [ReferenceError: nope is not defined]"}},
		"a test that throws no error": {file: `it("x", () => { throw "oh" })`, want: []string{"x: failed [Error: oh]"}},
		"async": {file: `
it("waits", async () => { await new Promise(r => setTimeout(r, 3600e3)); expect(1).toBe(1) })
it("rejects", async () => { await null; throw new Error("late") })
it("nobody waits", () => { Promise.reject(new Error("lost")) })`,
			want: []string{"waits: passed", "rejects: failed [Error: late]", "nobody waits: failed [Error: lost]"}},
		"a fresh cluster for each": {file: orders + `
describe("d", { shards: 3 }, () => {
  before(furnish)
  it("changes", () => { db.getSiblingDB("app").orders.deleteMany({}); expect(count()).toBe(0) })
  it("finds all", () => expect(count()).toBe(10))
  describe("more", () => {
    before(() => db.getSiblingDB("app").orders.insertOne({ c: 10 }))
    it("goes on", () => expect(count()).toBe(11))
  })
  it("does not see the inner suite", () => expect(count()).toBe(10))
})
describe("another", { shards: 2 }, () => it("is empty", () => {
  expect(sh.listShards().length).toBe(2); expect(count()).toBe(0) }))`,
			want: []string{"d > changes: passed", "d > finds all: passed", "d > more > goes on: passed",
				"d > does not see the inner suite: passed", "another > is empty: passed"}},
		"hooks": {file: `
const log = []
describe("d", () => {
  before(() => log.push("before")); after(() => log.push("after"))
  beforeEach(() => log.push("outer each")); afterEach(() => log.push("outer end"))
  describe("e", () => {
    beforeEach(() => log.push("inner each")); afterEach(() => log.push("inner end"))
    it("a", () => log.push("a"))
  })
})
it("ran in order", () => expect(log.join()).toBe("before,outer each,inner each,a,inner end,outer end,after"))`,
			want: []string{"d > e > a: passed", "ran in order: passed"}},
		"hooks that fail": {file: `
describe("d", () => { before(() => { throw new Error("no") }); it("a", () => {}); it("b", () => {}) })
describe("e", () => { beforeEach(() => { throw new Error("each") }); it("a", () => {}) })
describe("f", () => { afterEach(() => { throw new Error("end") }); it("a", () => {}) })
describe("g", () => { after(() => { throw new Error("last") }); it("a", () => {}) })`,
			want: []string{"d > a: failed [before: Error: no]", "d > b: failed [before: Error: no]",
				"e > a: failed [beforeEach: Error: each]", "f > a: failed [afterEach: Error: end]", "g > a: passed",
				"g > after: failed [after: Error: last]"}},
		"only, skip, todo": {file: `
it("a", () => { throw 1 }); it.only("b", () => {}); it.todo("c"); it("d")
describe.skip("e", () => it("f", () => { throw 1 }))`,
			want: []string{"a: skipped", "b: passed", "c: todo", "d: todo", "e > f: skipped"}},
		"nested": {file: `
it("a", () => { it("b", () => {}) }); it("c", () => { describe("d", () => {}) }); it("e", () => { before(() => {}) })`,
			want: []string{
				"a: failed [Error: it() stands inside of a test: tests and hooks are " +
					"written side by side, and read before the first test runs]",
				"c: failed [Error: describe() stands inside of a test: tests and hooks " +
					"are written side by side, and read before the first test runs]",
				"e: failed [Error: before() stands inside of a test: tests and hooks are " +
					"written side by side, and read before the first test runs]"}},
		"wrong options": {file: `describe("a", { shard: 3 }, () => {})`, want: []string{
			"file: Error: describe takes topology, shards, snapshot, fixture, serverVersion, seed, parameters, " +
				"timeout, everyFault, not \"shard\"; did you mean shards?"}},
		"a number for a version": {file: `describe("a", { serverVersion: 7.0 }, () => {})`, want: []string{
			"file: Error: describe: serverVersion has to be a text such as '7.0', not the number 7"}},
		"a text for parameters": {file: `describe("a", { parameters: "x" }, () => {})`, want: []string{
			"file: Error: describe: parameters has to be an object, not x"}},
		"a text for a time": {file: `describe("a", { timeout: "5s" }, () => {})`, want: []string{
			"file: Error: describe: timeout has to be a number of milliseconds, not 5s"}},
		"a hang": {file: `
it("loops", { timeout: 50 }, () => { for (;;); })
it("runs one that loops", { timeout: 200 }, () => { run("loop.js") })
it("goes on", () => expect(db.runCommand({ ping: 1 }).ok).toBe(1))
it("virtual hours are not time", () => { sleep(7200e3) })`, more: map[string]string{"loop.js": "for (;;);"},
			want: []string{
				"loops: failed [the test took longer than 50ms of real time (--test-timeout, or {timeout: milliseconds} at " +
					"the test)]",
				"runs one that loops: failed [the test took longer than 200ms of real time (--test-timeout, or {timeout: " +
					"milliseconds} at the test)]",
				"goes on: passed", "virtual hours are not time: passed"}},
		"quit": {file: `it("a", () => quit(0)); it("b", () => {})`, want: []string{
			"a: failed [the test ended the program: quit() and process.exit() are for the scripts that run() runs]",
			"b: passed"}},
		"releases": {file: `
it("a", () => expect(db.version()).toMatch(/^(5|8)\.0/))
it("b", { serverVersion: "6.0" }, () => expect(db.version()).toMatch("6.0"))`,
			options: testrunner.Options{Releases: []catalog.Release{release("5.0"), release("8.0")}},
			want:    []string{"a: passed on 5.0", "b: passed on 6.0", "a: passed on 8.0"}},
		"seeds and repetitions": {file: `
const seen = []
it("a", () => { seen.push(String(new ObjectId().constructor === ObjectId), mock.status().ok) })
it("b", () => expect(seen.length).toBe(6))`, options: testrunner.Options{Repeat: 3},
			want: []string{"a: passed", "b: passed"}},
		"actions that a hook has defined": {file: `
beforeEach(() => cluster.atCommand(1, () => { throw new Error("at the command") }))
it("a", () => { run("ping.js") })`,
			more: map[string]string{"ping.js": "db.runCommand({ ping: 1 })"},
			want: []string{"a: failed [Error: at the command]"}},
		"matchers of the cluster": {file: `it("a", () => expect(undefined).toBeConsistent())`,
			want: []string{"a: failed [this is for expect(cluster), inside of a test]"}},
		"faults that don't happen": {file: `
it("a", () => { cluster.atCommand(99, { crash: "shard0" }); run("ping.js") })
it("b", () => { cluster.onMigration("start", { stepDown: true }) })`,
			more: map[string]string{"ping.js": "db.runCommand({ ping: 1 })"},
			want: []string{
				"a: failed [cluster.atCommand(99) did not happen: the scripts of the test sent too few commands after it]",
				"b: failed [cluster.onMigration(\"start\") did not happen: no migration has come to it]"}},
	} {
		t.Run(name, func(t *testing.T) {
			texts := map[string]string{"t_test.js": tt.file}
			for file, text := range tt.more {
				texts[file] = text
			}
			if got := outcome(run(t, texts, tt.options)); !slices.Equal(got, tt.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// Modules and TypeScript are tests, too; other files are none.
func TestKindsOfFiles(t *testing.T) {
	r := run(t, map[string]string{
		"a_test.mjs":              `import { two } from "./lib.mjs"; it("a", () => expect(two).toBe(2))`,
		"lib.mjs":                 `export const two = 2`,
		"b_test.ts":               `const n: number = 2; it("b", () => expect(n).toBe(2))`,
		"sub/c_test.js":           `it("c", () => expect(run("c.js").output).toBe("beside\n"))`,
		"sub/c.js":                `print("beside")`,
		"node_modules/d_test.js":  `it("d", () => {})`,
		"notatest.js":             `it("e", () => {})`,
		"__snapshots__/x_test.js": `it("f", () => {})`,
	}, testrunner.Options{Jobs: 4})
	if got, want := fmt.Sprint(outcome(r)), "[a: passed b: passed c: passed]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if read := fmt.Sprint(r.Files[0].FilesRead); !strings.Contains(read, "lib.mjs") {
		t.Errorf("a_test.mjs has read %s", read)
	}
	if read := fmt.Sprint(r.Files[2].FilesRead); !strings.Contains(read, "sub/c.js") {
		t.Errorf("c_test.js has read %s", read)
	}
}

// A script is run as the program would run it.
func TestRunningScripts(t *testing.T) {
	r := run(t, map[string]string{
		"t_test.js": orders + `
describe("run", () => {
  before(furnish)
  it("has arguments", () => {
    const r = run("args.js", { args: ["--shard", "a b"], env: { WHO: "me" }, stdin: "yes\n" })
    expect(r.json).toEqual({ args: ["--shard", "a b"], who: "me", interactive: false })
    expect(r.exitCode).toBe(0); expect(r.errors).toBe("")
  })
  it("ends with a code", () => { expect(run("quit.js").exitCode).toBe(7); expect(run("code.js").exitCode).toBe(4) })
  it("fails", () => {
    const r = run("fail.js")
    expect(r.exitCode).toBe(1); expect(r.output).toBe("begun\n"); expect(r.errors).toContain("TypeError")
    expect(r.json).toBeUndefined()
  })
  it("is missing", () => { const r = run("none.js"); expect(r.exitCode).toBe(1); expect(r.errors).toContain("no such file") })
  it("shows its commands", () => {
    const r = run("find.js")
    expect(r.commands).toEqual([
      { db: "app", name: "find", command: expect.objectContaining({ find: "orders", filter: { c: 1 } }),
        reply: expect.objectContaining({ ok: 1 }), ms: expect.any(Number) },
      { db: "admin", name: "createUser", command: expect.objectContaining({ createUser: "joe" }),
        reply: expect.anything(), ms: expect.any(Number) },
      { db: "admin", name: "nope", command: expect.anything(), reply: expect.anything(), error: expect.stringMatching(/no such/),
        ms: expect.any(Number) }])
    expect(JSON.stringify(r.commands)).not.toContain("hunter2")
  })
  it("shares the cluster and its time", () => {
    run("insert.js")
    expect(count()).toBe(11)
    const before = new Date()
    run("sleep.js")
    expect(new Date() - before).toBeGreaterThanOrEqual(3600e3)
  })
  it("reaches nothing else", () => {
    expect(run("self.js").output).toBe("11\n")
    expect(run("other.js").errors).toContain("a test reaches no cluster but its own")
  })
})`,
		"args.js": `print(JSON.stringify({ args: process.argv.slice(2), who: process.env.WHO, interactive: isInteractive() }))`,
		"quit.js": `quit(7)`, "code.js": `process.exitCode = 4`,
		"fail.js":   `print("begun"); null.x`,
		"find.js":   `db.getSiblingDB("app").orders.findOne({ c: 1 }); db.adminCommand({ createUser: "joe", pwd: "hunter2", roles: [] }); try { db.adminCommand({ nope: 1 }) } catch {}`,
		"insert.js": `db.getSiblingDB("app").orders.insertOne({ c: 99 })`,
		"sleep.js":  `sleep(3600e3)`,
		"self.js":   `const m = new Mongo("mongodb://mock:27017/"); m.getDB("app").orders.insertOne({ c: 5 }); print(db.getSiblingDB("app").orders.countDocuments())`,
		"other.js":  `new Mongo("mongodb://elsewhere:27017/")`,
	}, testrunner.Options{})
	for _, line := range outcome(r) {
		if !strings.HasSuffix(line, ": passed") {
			t.Error(line)
		}
	}
	if t.Failed() {
		t.Log(r.Files[0].Tests)
	}
}

// toBeUnchanged sees a write that leaves the number of documents as it is.
func TestToBeUnchanged(t *testing.T) {
	r := run(t, map[string]string{"verify_test.js": orders + `
describe("orders", { shards: 2 }, () => {
  before(furnish)
  it("stay", () => {
    const before = sh.verify("app.orders", { progress: false })
    sh.moveRange("app.orders", "shard1", { c: 5 })
    expect(before).toBeUnchanged()
  })
  it("are written", () => {
    const before = sh.verify("app.orders", { progress: false })
    db.getSiblingDB("app").orders.updateOne({ c: 3 }, { $set: { x: 1 } })
    expect(before).not.toBeUnchanged()
    expect(before).toBeUnchanged()
  })
  it("is not a digest", () => { expect("app.orders").toBeUnchanged() })
})`}, testrunner.Options{})
	for i, want := range []string{"", "but for 1 document written since", "this is for what sh.verify(ns) returned"} {
		got := ""
		for _, p := range r.Files[0].Tests[i].Problems {
			got += p.Text
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// toPassAudit sees what lies where it should not.
func TestToPassAudit(t *testing.T) {
	r := run(t, map[string]string{"audit_test.js": orders + `
describe("orders", { shards: 2 }, () => {
  before(furnish)
  it("stay", () => {
    sh.moveRange("app.orders", "shard1", { c: 5 })
    expect("app.orders").toPassAudit()
    expect("app").toPassAudit()
    expect(cluster).toPassAudit()
  })
  it("have a zone without keys", () => {
    db.getSiblingDB("config").tags.insertOne({ ns: "app.orders", tag: "z", min: { c: 5 }, max: { c: 5 } })
    expect("app.orders").not.toPassAudit()
    expect("app.orders").toPassAudit()
  })
  it("are not there", () => { expect("app.none").toPassAudit() })
})`}, testrunner.Options{})
	for i, want := range []string{"", "zone-empty  app.orders", "app.none does not exist"} {
		got := ""
		for _, p := range r.Files[0].Tests[i].Problems {
			got += p.Text
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// --every-fault tells a script that gets over whatever happens from one that leaves
// the balancer off, whatever that prints.
func TestEveryFault(t *testing.T) {
	const suite = orders + `
describe("move", { shards: 2 }, () => {
  before(furnish)
  it("moves", () => {
    expect(run("script.js").exitCode).toBe(0)
    expect(sh.getBalancerState()).toBe(true)
    expect(cluster).toHaveLostNothing()
  })
})`
	const work = `db.adminCommand({ listShards: 1 });`
	for name, tt := range map[string]struct {
		script string
		want   string // the problem; empty for none
	}{
		"one that leaves it off": {`sh.stopBalancer(); ` + work + ` sh.startBalancer()`,
			"the balancer is off"},
		"one that leaves it off and says so": {`try { sh.stopBalancer(); ` + work + ` sh.startBalancer() }
			catch (e) { print("the balancer may be off: sh.startBalancer()"); throw e }`, "the balancer is off"},
		"one that is there to pause a collection": {work + ` sh.disableBalancing("app.orders"); ` + work, ""},
		"one that turns it on again": {`
			const again = f => { for (let i = 0; i < 3; i++) try { return f() } catch (e) { if (i == 2) throw e } }
			try { sh.stopBalancer(); ` + work + ` } finally { again(() => sh.startBalancer()) }`, ""},
		"one that loses documents": {`db.adminCommand({ listShards: 1 })
			try { db.adminCommand({ listDatabases: 1 }) } catch (e) {
			  db.getSiblingDB("app").orders.deleteOne({ c: 3 }); throw e }`, "lost: app.orders has lost 1 of 10 documents"},
		"one that takes every error for fine": {`try { sh.stopBalancer(); ` + work + ` sh.startBalancer() } catch {}`,
			"expect(received).toBe(expected)"},
		"one that drains, and is done when it runs again": {`db.adminCommand({ removeShard: "shard1" }); ` + work +
			` db.getSiblingDB("config").shards.updateOne({ _id: "shard1" }, { $unset: { draining: 1 } })`, ""},
		"one that drains for good": {`const config = db.getSiblingDB("config")
			if (config.shards.findOne({ _id: "shard1" }).draining) quit(0)
			db.adminCommand({ removeShard: "shard1" }); ` + work +
			` config.shards.updateOne({ _id: "shard1" }, { $unset: { draining: 1 } })`,
			"shard1 is still draining after the script has run again"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, map[string]string{"t_test.js": suite, "script.js": tt.script}, testrunner.Options{EveryFault: true})
			result := r.Files[0].Tests[0]
			got := ""
			if len(result.Problems) > 0 {
				got = first(result.Problems[0].Text)
			}
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("%s: %q, want %q: %+v", result.Status, got, tt.want, result.Problems)
			}
			if tt.want == "" && result.Faults < 6 {
				t.Errorf("%d faults, want two for each of at least three commands", result.Faults)
			}
		})
	}
}

// What is stopped tells what was done so far.
func TestStopping(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := testrunner.Run(ctx, testrunner.Options{Files: files(t, map[string]string{"a_test.js": `it("a", () => {})`})})
	if !r.Stopped || r.Counts[testrunner.Passed]+r.Counts[testrunner.Failed] != 0 {
		t.Errorf("%+v", r)
	}
}

// After a failure --bail lets no other test begin.
func TestBail(t *testing.T) {
	r := run(t, map[string]string{"t_test.js": `it("a", () => {}); it("b", () => { throw 1 }); it("c", () => {})`},
		testrunner.Options{Bail: true})
	if got := len(r.Files[0].Tests); got != 2 {
		t.Errorf("%d tests have run, want 2", got)
	}
}
