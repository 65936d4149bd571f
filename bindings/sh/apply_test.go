package sh_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/shelltest"
)

// lopsided is a cluster with all of a collection on one shard, and its balancer
// off.
func lopsided(t *testing.T, sets ...func(*bindings.Config)) *connected {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
		"settings": {"balancer": {"stopped": true}}, "collections": [{"ns": "shop.orders", "key": {"x": 1}, "chunks": [
		{"shard": "a", "max": {"x": 1000}, "bytes": "120MiB", "docs": 1200}, {"shard": "a", "max": {"x": 2000}, "bytes": "120MiB", "docs": 1200},
		{"shard": "a", "max": {"x": 3000}, "bytes": "120MiB", "docs": 1200}, {"shard": "a", "max": {"x": 4000}, "bytes": "120MiB", "docs": 1200},
		{"shard": "a", "bytes": "120MiB", "docs": 1200}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return shelltest.ConnectMock(t, mock.Config{Topology: topology, Seed: 3}, sets...)
}

func TestApply(t *testing.T) {
	t.Chdir(t.TempDir())
	c := lopsided(t)
	shelltest.Run(t, c,
		step{`const layout = () => sh.chunks("shop.orders").toArray().map(c => c.shard + EJSON.stringify(c.min)).join()`, ""},
		step{`const before = layout()`, ""},
		step{`const p = sh.plan("shop.orders"); p.steps.length > 1`, "true"},
		// A dry run shows the commands and changes nothing.
		step{`const dry = sh.apply(p, { dryRun: true }); [dry.finished, dry.stepsDone, dry.possible, dry.commands.length == p.steps.length, dry.commands[0].moveRange]`,
			"[ false, 0, true, true, 'shop.orders' ]"},
		step{`layout() == before`, "true"},
		step{`fs.existsSync(p.id + ".journal")`, "false"},
		// One step, then the rest of it, from the journal alone.
		step{`const one = sh.apply(p, { maxMoves: 1 }); [one.finished, one.stopped, one.stepsDone]`,
			"[ false, 'the limit of 1 move is reached', 1 ]"},
		step{`const rest = sh.apply({ resume: p.id + ".journal" }); [rest.finished, rest.stepsDone == p.steps.length]`,
			"[ true, true ]"},
		step{`sh.plan("shop.orders").steps.length`, "0"},
		// And all of it back.
		step{`const back = sh.undo(rest.journal); [back.goal.kind, back.totals.moves == p.totals.moves]`, "[ 'undo', true ]"},
		step{`sh.apply(back, { progress: false }).finished`,
			"Step 1: waiting for range deletion on a.\ntrue"},
		step{`layout() == before`, "true"},
	)
	if text, failed := c.Show(`sh.undo(rest.journal)`); !failed || !strings.Contains(text, "there is nothing to undo") {
		t.Error(text)
	}
}

// Plans come from files as well, and from what JSON.parse made of them.
func TestApplyForms(t *testing.T) {
	t.Chdir(t.TempDir())
	c := lopsided(t)
	shelltest.Run(t, c,
		step{`const p = sh.plan(); fs.writeFileSync("plan.json", JSON.stringify(p))`, ""},
		step{`sh.apply("plan.json", { maxMoves: 1, journal: null }).journal`, ""},
		step{`sh.apply(JSON.parse(fs.readFileSync("plan.json", "utf8")), { journal: "mine", pauseBalancing: true }).journal`,
			"Balancing of shop.orders is paused.\nBalancing of shop.orders is on again.\nmine"},
	)
	text, err := os.ReadFile("mine")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is not JSON", line)
		}
	}
	for _, files := range []string{"plan.json", "mine"} {
		if _, err := os.Stat(files); err != nil {
			t.Error(err)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	c := lopsided(t)
	shelltest.Run(t, c, step{`const p = sh.plan()`, ""})
	for input, want := range map[string]string{
		`sh.apply()`:                                         "sh.apply needs a plan of sh.plan()",
		`sh.apply({})`:                                       "sh.apply needs a plan of sh.plan()",
		`sh.apply(p, { resume: "x" })`:                       "or only { resume: journal }",
		`sh.apply(p, { parallels: 2 })`:                      "did you mean parallel",
		`sh.apply(p, { onChange: "go" })`:                    `"refuse" or "replan"`,
		`sh.apply("nowhere.json")`:                           "nowhere.json",
		`sh.apply({ steps: [] })`:                            "sh.apply:",
		`sh.apply({ resume: "nowhere" })`:                    "nowhere",
		`sh.undo("nowhere")`:                                 "nowhere",
		`sh.startBalancer(); sh.apply(p, { journal: "no" })`: `the cluster's balancer is on and balances shop.orders: sh.stopBalancer(), or sh.disableBalancing("shop.orders")`,
	} {
		if text, failed := c.Show(input); !failed || !strings.Contains(text, want) {
			t.Errorf("%s shows %s, want %s", input, text, want)
		}
	}
	if _, err := os.Stat("no"); !os.IsNotExist(err) {
		t.Error("a journal of nothing stayed")
	}
}

// In a sandbox a plan is carried out without a journal, as no file may be written.
func TestApplyInSandbox(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	c := lopsided(t, func(cfg *bindings.Config) { cfg.Sandbox = &sandbox.Rules{} })
	shelltest.Run(t, c, step{`const p = sh.plan(); const r = sh.apply(p, { maxMoves: 1 }); [r.stepsDone, r.journal]`, "[ 1, undefined ]"})
	for _, input := range []string{`sh.apply(p, { journal: "j" })`, `sh.undo("/etc/passwd")`, `sh.apply("/etc/passwd")`} {
		if text, failed := c.Show(input); !failed || !strings.Contains(text, "sandbox") {
			t.Errorf("%s shows %s", input, text)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}
