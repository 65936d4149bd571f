package bindings_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/bindings"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

// hostile is a name, or a value, that a terminal would obey: a colour of the
// shell's own, others, a title, controls of eight bits, and marks of direction.
const hostile = "h\x1b[31mx\x1b[2J\x1b]0;t\a\r\u009b8m\u0085\u202eevil\u2066\u2028\u200f"

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// hostileTopology has such names wherever a cluster has names.
func hostileTopology(t *testing.T) *mock.Topology {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"shards": []any{
			map[string]any{"id": "s" + hostile, "zones": []string{"z" + hostile}}, map[string]any{"id": "plain"},
			map[string]any{"id": "third", "draining": true},
		},
		"databases": []any{map[string]any{"name": "shop", "primary": "s" + hostile}},
		"collections": []any{map[string]any{
			"ns": "shop." + hostile, "key": map[string]any{"f" + hostile: 1}, "chunks": []any{
				map[string]any{"shard": "s" + hostile, "max": map[string]any{"f" + hostile: "m" + hostile}, "jumbo": true},
				map[string]any{"shard": "plain"},
			},
			"zones": []any{map[string]any{"zone": "z" + hostile, "min": map[string]any{"f" + hostile: map[string]any{"$minKey": 1}},
				"max": map[string]any{"f" + hostile: "m" + hostile}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	topology, err := mock.ParseTopology(raw)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// hostileShell is a shell on such a cluster. All that it writes is checked.
type hostileShell struct {
	*connected
	t     *testing.T
	color bool
}

func onHostile(t *testing.T, change func(*bindings.Config)) *hostileShell {
	t.Helper()
	cluster, err := mock.New(mock.Config{Topology: hostileTopology(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	c := &connected{Out: &bytes.Buffer{}, Errs: &bytes.Buffer{}}
	cfg := bindings.Config{
		Client: shelltest.Dial(t, router.New(cluster, nil)), Address: "mongodb://mock:27017/", Deployment: "d" + hostile,
		SetName: "r" + hostile, Clock: cluster.Clock(), Stdout: c.Out, Stderr: c.Errs, Version: "1.2.3",
	}
	change(&cfg)
	if c.Shell, err = bindings.New(cfg); err != nil {
		t.Fatal(err)
	}
	h := &hostileShell{c, t, cfg.Color}
	for _, source := range []string{
		`const H = ` + quoted(hostile),
		`db = db.getSiblingDB("shop")`,
		`db.getCollection(H).insertOne({ ["f" + H]: H, _id: H, [H]: { [H]: [H, new RegExp(H.replace(/[^a-z]/g, ".") + "\u009b\u202e"),
			BSONRegExp(H.replaceAll("\u2028", "")), Symbol.for(H), BSONSymbol(H), Code(H, { a: H }), DBRef(H, H, H), new Date()] } })`,
		`db.createCollection("v" + H, { viewOn: H, pipeline: [] })`,
		`db.getCollection(H).createIndex({ ["f" + H]: 1, [H]: 1 }, { name: "i" + H })`,
		`db.getSiblingDB("d" + H).c.insertOne({ a: 1 })`,
		`db.createUser({ user: "u" + H, pwd: "p", roles: [], customData: { a: H } })`,
		`db.createRole({ role: "r" + H, roles: [], privileges: [] })`,
	} {
		if _, err := h.Eval(context.Background(), "setup", source); err != nil {
			var thrown *script.Error
			if !errors.As(err, &thrown) {
				t.Fatal(err)
			}
			if !strings.Contains(source, `"d" + H`) { // a server may refuse such a database
				t.Fatalf("%s: %s", source, thrown.Text())
			}
		}
	}
	h.check("the setup", "")
	return h
}

// check looks at a text, and at what was written since.
func (h *hostileShell) check(what, text string) {
	h.t.Helper()
	for from, text := range map[string]string{"result": text, "stdout": h.Out.String(), "stderr": h.Errs.String()} {
		bare := text
		if h.color {
			if strings.Contains(text, "h\x1b") {
				h.t.Errorf("%s: %s has a colour of the name: %q", what, from, text)
			}
			for _, style := range []string{"0", "1", "2", "22", "31", "32", "33", "34", "35", "36", "39", "90", "1;31", "1;33",
				"97;44", "30;43", "30;42", "97;45", "30;46", "97;41"} {
				bare = strings.ReplaceAll(bare, "\x1b["+style+"m", "")
			}
		}
		if i := strings.IndexFunc(bare, plaintext.IsControl); i >= 0 {
			h.t.Errorf("%s: %s is obeyed by a terminal: %q", what, from, bare[max(0, i-60):min(len(bare), i+60)])
		}
	}
	h.Out.Reset()
	h.Errs.Reset()
}

// eval runs an input and checks all that is shown of it: the result or the
// error, and what was printed.
func (h *hostileShell) eval(source string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	result, err := h.Eval(ctx, "input", source)
	text := ""
	if err == nil {
		text, err = h.Render(ctx, result)
	}
	var thrown *script.Error
	if errors.As(err, &thrown) {
		text += thrown.Text()
	}
	h.check(source, text)
}

// looks are the ways a shell shows things.
var looks = map[string]func(*bindings.Config){
	"script":   func(*bindings.Config) {},
	"pipe":     func(c *bindings.Config) { c.Interactive = true },
	"terminal": func(c *bindings.Config) { c.Interactive, c.Terminal = true, true },
	"colours":  func(c *bindings.Config) { c.Interactive, c.Terminal, c.Color = true, true, true },
	"compat":   func(c *bindings.Config) { c.Interactive, c.Compat = true, true },
}

// notCalled end the shell, wait, or ask somebody.
var notCalled = []string{"quit", "exit", "edit", "passwordPrompt", "shutdownServer", "auth", "watch", "sleep", "constructor",
	"fsyncLock", "logout", "waitForBalance", "drain", "cat"}

// What comes from a cluster is text on a terminal: every helper of every object
// is called with such names, and every output is read.
func TestNamesOfAClusterAreNotObeyed(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for look, change := range looks {
		t.Run(look, func(t *testing.T) {
			h := onHostile(t, change)
			if prompt := h.Prompt(); strings.ContainsFunc(prompt, plaintext.IsControl) {
				t.Errorf("the prompt is %q", prompt)
			}
			for _, source := range hostileInputs {
				h.eval(source)
			}
			if look != "script" && look != "colours" {
				return
			}
			for _, object := range []string{"sh", "db", `db.getCollection(H)`, `db.getCollection(H).find()`, "db.getMongo()", "rs", "mock",
				"config"} {
				for _, name := range h.methods(object) {
					if slices.Contains(notCalled, name) || strings.HasPrefix(name, "wait") || strings.HasPrefix(name, "await") ||
						strings.HasPrefix(name, "drop") || strings.HasPrefix(name, "remove") {
						continue
					}
					for _, arguments := range []string{"", `H, {[H]: H}`, `"shop." + H, {["f" + H]: "a"}`,
						`"shop." + H, "s" + H`, `{[H]: H}`} {
						h.eval(fmt.Sprintf("(%s)[%q](%s)", object, name, arguments))
					}
				}
			}
		})
	}
}

// A result that is a text is what it is in a pipe, where it may be JSON for
// another program, and visible on a terminal.
func TestTextsAsResults(t *testing.T) {
	for look, want := range map[string]string{"script": "a\u202eb", "terminal": `a\u202Eb`, "colours": `a\u202Eb`} {
		h := onHostile(t, looks[look])
		if got := h.result(`"a\u202eb"`); got != want {
			t.Errorf("%s: %q, want %q", look, got, want)
		}
	}
}

// methods lists the functions of an object and what it inherits from.
func (h *hostileShell) methods(object string) []string {
	h.t.Helper()
	text := h.result(`{ const names = new Set(); let o = (` + object + `);
		while (o && o !== Object.prototype) { Object.getOwnPropertyNames(o).forEach(n => names.add(n)); o = Object.getPrototypeOf(o) };
		[...names].filter(n => { try { return typeof (` + object + `)[n] === "function" } catch { return false } }).join(" ") }`)
	return strings.Fields(text)
}

func (h *hostileShell) result(source string) string {
	h.t.Helper()
	result, err := h.Eval(context.Background(), "input", source)
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := h.Render(context.Background(), result)
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// hostileInputs are what else shows something.
var hostileInputs = []string{
	`show dbs`, `show collections`, `show tables`, `show users`, `show roles`, `show profile`, `show log`, `show logs`,
	`show startupWarnings`, `show shards`, `show zones`, `show chunks`, `show migrations`, `show balancer`, `show nope`, `show ` + hostile,
	`sh.status()`, `sh.status({ verbose: true })`, `db.printShardingStatus(true)`, `db.getCollection(H)`, `db`, `db.getSiblingDB(H)`,
	`db.getCollection(H).find()`, `db.getCollection(H).findOne()`, `db.getCollection(H).findOne()._id`, `it`,
	`db.getCollection(H).getIndexes()`, `db.getCollection(H).getShardDistribution()`, `db.getCollection(H).stats()`,
	`db.getCollection(H).explain().find({ [H]: H })`, `db.getCollection(H).explain("executionStats").aggregate([{ $match: { [H]: H } }])`,
	`print(db.getCollection(H).findOne())`, `print(db.getCollection(H))`, `printjson(db.getCollection(H).findOne())`,
	`print(tojson(db.getCollection(H).findOne()))`, `printjsononeline(db.getCollection(H).findOne())`, `tojson(H)`,
	`console.log(db.getCollection(H).findOne())`, `console.table([{ [H]: H }])`, `console.dir({ [H]: H })`,
	`db.getCollection(H).insertOne({ _id: H, ["f" + H]: H })`, `db.getCollection(H).bulkWrite([{ insertOne: { document: { _id: H } } }])`,
	`db.getCollection(H).aggregate([{ [H]: 1 }])`, `db.getCollection(H).find({ $expr: { [H]: 1 } })`, `db.runCommand({ [H]: 1 })`,
	`db.adminCommand({ getParameter: 1, [H]: 1 })`, `db.getCollection(H).updateOne({}, { ["$" + H]: 1 })`, `db.getUser("u" + H)`,
	`throw new Error(H)`, `throw H`, `throw { [H]: H }`, `throw Object.assign(new Error(H), { name: H, codeName: H, code: 5, errInfo: { [H]: H } })`,
	`new Error(H)`, `[new Error(H)]`, `new Error("a", { cause: new Error(H) })`, `class E extends Error { get name() { return H } }; throw new E(H)`,
	`null.` + "x" + `; H`, `undefinedName`, "`${H}", `"` + "\u009b" + ``, `Symbol(H)`, `({ [Symbol(H)]: 1 })`, `[Symbol(H)]`,
	`Object.defineProperty(function () {}, "name", { value: H })`, `[Object.defineProperty(class {}, "name", { value: H })]`,
	`Object.assign(Object.defineProperty(function () {}, "name", { value: H }), { a: 1 })`,
	`new (Object.defineProperty(class A { b = 1 }, "name", { value: H }))()`, `({ [Symbol.toStringTag]: H, a: 1 })`,
	`new RegExp("\u009b\u202e")`, `[new RegExp("\u009b\u202e")]`, `Object.assign(new RegExp("\u009b\u202e"), { a: 1 })`,
	`new Map([[H, H]])`, `new Set([H])`, `new Proxy({ [H]: H }, {})`, `Promise.reject(new Error(H))`, `[H]`, `({ [H]: H })`, `H`,
	`Code(H)`, `BSONSymbol(H)`, `DBRef(H, 1, H)`, `new String(H)`, `[new String(H)]`, `util.inspect({ [H]: H })`, `require("util").inspect(H)`,
	`load(H)`, `require(H)`, `use ` + hostile, `db.getMongo()`, `new Mongo("mongodb:" + H)`,
	`new Mongo("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50&appName=" + encodeURIComponent(H))`, `assert.eq(H, 1)`,
	`assert(false, H)`, `EJSON.stringify({ [H]: H }).length`, `help`, `sh.help()`, `mock.help()`,
	`sh.waitForBalance("shop." + H, { timeout: "2m", progress: true })`, `sh.balancerSummary()`, `sh.moveRange("shop." + H, H, { a: 1 })`,
	`sh.drain("s" + H, { wait: true, timeout: "1m" })`, `sh.waitForDrain("s" + H)`, `passwordPrompt`,
	`sh.map("shop." + H)`, `print(sh.map("shop." + H))`, `sh.map(H)`, `show migrations`, `show shards`, `show zones`,
}
