package bindings_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

func TestPrograms(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"let a = 1, {b, ...rest} = {b: 2, c: 3}", ""},
		step{"let a = 5, [b] = [6]; a + b", "11"},
		step{"rest", "{ c: 3 }"},
		step{"let a", ""}, // declared again without a value: empty again
		step{"a", ""},
		step{"const k = 1", ""},
		step{"k = 2", "2"},
		step{"class C { f() { return 1 } }", "[class C]"},
		step{"class C extends Array {}", "[class C extends Array]"},
		step{"function f() { return 7 }", "[Function: f]"},
		step{"async function g() { return 8 }", "[AsyncFunction: g]"},
		step{"g()", "8"},
		step{"1; function h() {}", "[Function: h]"},
		step{"if (true) { let inner = 3; inner }", "3"},
		step{"typeof inner", "undefined"},
		step{"for (let i = 0; i < 3; i++) var last = i; last", "2"},
		step{"let fs1 = []; for (let i = 0; i < 2; i++) fs1.push(() => i); fs1.map(f => f())", "[ 0, 1 ]"},
		step{"var print2 = print; print2('x')", "x"},
		step{"let path = 'mine'; path", "mine"},
		step{"0777 + (() => { with ({w: 1}) { return w } })()", "512"},
		step{"#!/usr/bin/env shardsh\n3", "3"},
		step{"{a: 1}", "1"},
		step{"({a: 1})", "{ a: 1 }"},
		step{"globalThis.k", "2"},
		step{"var db2 = db; const db = db.getSiblingDB('config'); db", "config"},
		step{"db = db2; db.getName()", "app"},
		step{"(function () { const db = 5; return db })()", "5"},
	)
}

func TestTopLevelAwaitAndReturn(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"await Promise.resolve(5)", "5"},
		step{"const w1 = await Promise.resolve({a: 1}); let w2 = w1.a; function w3() { return w2 }", ""},
		step{"w3() + w2", "2"},
		step{"var n = 0; for (const x of [1, 2]) n += await x; n", "3"},
		step{"await Promise.reject(new TypeError('no'))", "TypeError: no"},
		step{"const found = await db.orders.findOne({_id: 4}); found.a", "v4"},
		step{"return 5", "5"},
		step{"if (true) { return 'early' }\nprint('never')", "early"},
	)
}

func TestDirectCommands(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"use config", "switched to db config"},
		step{"use config;", "already on db config"},
		step{"use app\ndb.getName()", "app"},
		step{"use one two", `MongoshInvalidInputError: [COMMON-10001] use takes one name, not "one two"`},
		step{"// first\nuse config\nshow dbs\nprint(db.getName())", "admin    40.00 KiB\napp     117.74 MiB\nconfig    3.34 MiB\ntiny         500 B\nconfig"},
		step{"use app\nshow dbs", "admin    40.00 KiB\napp     117.74 MiB\nconfig    3.34 MiB\ntiny         500 B"},
		step{"`\nuse config\n`", "\nuse config\n"},
		step{"/*\nuse config\n*/ db", "app"},
		step{"1 +\nuse config", "SyntaxError: Unexpected identifier (2:4)"},
		step{"if (true) {\nuse config\n}", "SyntaxError: Unexpected identifier (2:4)"},
		step{"use('config'); db", "config"},
		step{"show nothing", `MongoshInvalidInputError: [COMMON-10001] 'nothing' is not a valid argument for "show" (it knows balancer, chunks, collections, databases, log, logs, migrations, profile, roles, shards, startupWarnings, tables, users, zones)`},
		step{"var show = 5; show", "5"},
	)
}

func TestIncomplete(t *testing.T) {
	for source, want := range map[string]bool{
		"if (true) {": true, "f(": true, "[1,": true, "`abc": true, "/* x": true, "x = ": true, "a.": true, "() => {": true,
		"1": false, "": false, "'abc": false, "let x = ;": false, "}": false, "f(]": false, "use x": false, "await f(": true, "await f()": false,
		"// x": false, "if (a)": true, "do {} while": true,
	} {
		if got := script.Incomplete(source); got != want {
			t.Errorf("Incomplete(%q) is %v", source, got)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, tc := range []struct{ source, at, line string }{
		{"let a = 1;\nclass X {}; nosuch.foo", "f.js:2:13", "class X {}; nosuch.foo"},
		{"const a = 1, b = a.b.c", "f.js:1:22", "const a = 1, b = a.b.c"},
		{"\n\nthrow 5", "f.js:3:1", "throw 5"},
		{"let x = ;", "f.js:1:9", "let x = ;"},
		{"await 1; nosuch", "f.js:1:10", "await 1; nosuch"},
		{"if (1) return nosuch", "f.js:1:15", "if (1) return nosuch"},
		{"function f() {\n  db.orders.insertOne()\n}\nf()", "f.js:2:13", "  db.orders.insertOne()"},
		{"[1].map(x => x.y.z)", "f.js:1:18", "[1].map(x => x.y.z)"},
		{"(function f() { f() })()", "f.js:1:17", "(function f() { f() })()"},
	} {
		c := shelltest.Connect(t)
		_, err := c.Eval(context.Background(), "f.js", tc.source)
		var thrown *script.Error
		if !errors.As(err, &thrown) {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		if thrown.Position() != tc.at || thrown.SourceLine != tc.line {
			t.Errorf("%s: at %s %q, want %s %q", tc.source, thrown.Position(), thrown.SourceLine, tc.at, tc.line)
		}
	}
}

// TestNothingHoldsUpTheEnd: neither catch nor finally see quit, Ctrl-C or a
// timeout.
func TestNothingHoldsUpTheEnd(t *testing.T) {
	c := shelltest.Connect(t)
	_, err := c.Eval(context.Background(), "f.js", "try { quit(7) } catch (e) { print('caught') } finally { print('finally') }")
	var exit *script.ExitError
	if !errors.As(err, &exit) || exit.Code != 7 {
		t.Errorf("quit(7) gives %v", err)
	}
	reason := errors.New("enough")
	for _, source := range []string{
		"try { while (true) {} } finally { print('finally') }",
		"try { for (;;) sleep(1000) } catch (e) { print('caught') }",
		"try { for (;;) db.orders.findOne() } catch (e) { print('caught') }",
		"try { db.orders.find().forEach(() => { while (true) {} }) } catch (e) { print('caught') }",
		"setInterval(() => {}, 10); new Promise(() => {})",
		"try { [3, 1].sort(() => { while (true) {} }) } finally { print('finally') }",
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(20*time.Millisecond, func() { cancel(reason) })
		_, err := c.Eval(ctx, "f.js", source)
		timer.Stop()
		if !errors.Is(err, reason) {
			t.Errorf("%s ends with %v", source, err)
		}
	}
	if c.Out.Len() > 0 {
		t.Errorf("the scripts went on: %s", c.Out)
	}
	shelltest.Run(t, c, step{"db.orders.findOne({_id: 1}).a", "v1"}) // and the shell is fine
}

func TestExitCodes(t *testing.T) {
	for input, want := range map[string]int{
		"quit()": 0, "exit(3)": 3, "exit": 0, "quit(255)": 255, "quit(256)": 1, "quit(-1)": 1, "quit(1.5)": 1,
		"process.exit(4)": 4, "process.exitCode = 9; process.exit()": 9,
	} {
		_, err := shelltest.Connect(t).Eval(context.Background(), "f.js", input)
		var exit *script.ExitError
		if !errors.As(err, &exit) || exit.Code != want {
			t.Errorf("%s: %v", input, err)
		}
	}
	c := shelltest.Connect(t)
	shelltest.Run(t, c, step{"process.exitCode = 9", "9"})
	if c.JS.ExitCode() != 9 {
		t.Errorf("exit code %d", c.JS.ExitCode())
	}
}

func TestTimersRunOnTheClock(t *testing.T) {
	c := shelltest.Connect(t, func(c *bindings.Config) { c.Interactive = false })
	start := time.Now()
	shelltest.Run(t, c,
		step{"const t0 = Date.now(); setTimeout(x => print(x, Date.now() - t0), 3600000, 'hour'); setTimeout(() => print('first'), 5); queueMicrotask(() => print('micro')); print('now')",
			"now\nmicro\nfirst\nhour 3600000"},
		step{"let k = 0; const h = setInterval(() => { if (++k == 3) clearInterval(h) }, 1000); 'done'", "done"},
		step{"k", "3"},
		step{"const s0 = Date.now(); sleep(86400000); (Date.now() - s0) / 3600000", "24"},
		step{"const seen = []; setTimeout(() => seen.push('a'), 100); const tick = setInterval(() => { seen.push('i'); sleep(1000) }, 400); while (seen.length < 4) sleep(150); clearInterval(tick); seen.join('')", "aiii"},
		step{"await new Promise(r => setTimeout(r, 10, 'waited'))", "waited"},
		step{"clearTimeout(setTimeout(() => print('no'), 1))", ""},
		step{"setTimeout(() => { throw new Error('late') }, 1)", "Error: late"},
		step{"new Promise(r => setTimeout(r, 1000, 'slept'))", "slept"},
		step{"Promise.reject(new Error('nobody looks'))", "Error: nobody looks"},
		step{"Promise.reject(1).catch(() => 'seen')", "seen"},
	)
	if time.Since(start) > 5*time.Second {
		t.Error("somebody waited for real")
	}
}

// TestTimersOfInputs: a prompt does not wait for timers, and they go on.
func TestTimersOfInputs(t *testing.T) {
	ctx := context.Background()
	c := shelltest.Connect(t)
	shelltest.Run(t, c,
		step{"let n = 0; const every = setInterval(() => n++, 1000); n", "0"},
		step{"const later = (async () => { await new Promise(r => setTimeout(r, 2500)); return 'settled' })(); 1", "1"},
		step{"sleep(2000); n", "2"},
		step{"later", "settled"},
		step{"n", "2"},
		step{"throw new Error('other')", "Error: other"}, // and the interval goes on
		step{"sleep(1000); n", "3"},
	)
	if wait, ok := c.JS.NextTimer(); !ok || wait != 500*time.Millisecond {
		t.Errorf("the next timer is due in %v, %v", wait, ok)
	}
	shelltest.Run(t, c, step{"clearInterval(every); setTimeout(() => print('background'), 0); setTimeout(() => Promise.reject(new Error('nobody')), 0); 'set'", "Uncaught Error: nobody\nbackground\nset"},
		step{"setTimeout(() => { throw new Error('in the background') }, 10); 1", "1"})
	if err := c.JS.Clock.Sleep(ctx, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	c.Errs.Reset()
	if err := c.JS.RunTimers(ctx); err != nil || c.Errs.String() != "Uncaught Error: in the background\n" {
		t.Errorf("RunTimers gives %v and tells %s", err, c.Errs)
	}
	if _, ok := c.JS.NextTimer(); ok {
		t.Error("there is a timer left")
	}
}

// TestAtExit: what scripts registered runs however they end.
func TestAtExit(t *testing.T) {
	const register = "atExit(() => print('first')); process.on('exit', () => print('second')); "
	for _, end := range []string{"", "quit(3)", "throw 1", "process.exit(2)", "null.x", "atExit(() => quit(4))", "Promise.reject(1)", "while (true) {}"} {
		c := shelltest.Connect(t)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, _ = c.Eval(ctx, "f.js", register+end)
		if end == "while (true) {}" && ctx.Err() == nil {
			t.Error("the script was not stopped")
		}
		if err := c.Close(ctx); err != nil {
			t.Errorf("%s: %v", end, err)
		}
		cancel()
		if c.Out.String() != "second\nfirst\n" {
			t.Errorf("after %q: %s", end, c.Out)
		}
	}
}

func TestRunFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	main := write("main.js", `
use config
print(db.getName(), __filename.endsWith("main.js"), process.argv.slice(2).join())
load(__dirname + "/sub/other.js")
print(typeof fromOther, __filename.endsWith("main.js"))
const {twice} = require("./sub/module")
print(twice(4))
show collections
`)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("sub/other.js", `let fromOther = require("./data.json").n; print(__filename.endsWith("other.js"), fromOther)`)
	write("sub/data.json", `{"n": 5}`)
	write("sub/module.js", `const d = require("./data"); exports.twice = x => 2 * x + d.n - 5; if (typeof db.getName() != "string") throw 1`)
	bad := write("bad.js", "let ok = 1\n\nboom()\n")

	c := shelltest.Connect(t, func(cfg *bindings.Config) {
		cfg.Executable = "shardsh"
		cfg.Args = []string{"x", "y"}
		cfg.Interactive = false
	})
	if _, err := c.RunFile(context.Background(), main); err != nil {
		t.Fatal(err)
	}
	want := "config true x,y\ntrue 5\nnumber true\n8\norders\nts            [time-series]\nusers\nvw            [view]\nsystem.views\n"
	if c.Out.String() != want {
		t.Errorf("main.js wrote\n%s", c.Out)
	}
	_, err := c.RunFile(context.Background(), bad)
	var thrown *script.Error
	if !errors.As(err, &thrown) || thrown.Position() != bad+":3:1" {
		t.Errorf("bad.js: %v %s", err, thrown.Position())
	}
	_, err = c.RunFile(context.Background(), filepath.Join(dir, "none.js"))
	if err == nil || err.Error() != "Error: ENOENT: no such file or directory, open '"+dir+"/none.js'" {
		t.Errorf("none.js: %v", err)
	}
}

// TestPipe: standard input is a script whose expressions are shown
// (rules/04-command-line-and-prompt §1.9).
func TestPipe(t *testing.T) {
	c := shelltest.Connect(t, func(cfg *bindings.Config) {
		cfg.Interactive = false
		cfg.Stdin = strings.NewReader("use config\nvar x = 1\nx + 1\nfunction f() { return db.getName() }\nf()\ndb.settings.find({}, {_id: 1})\nshow dbs\nthrow new Error('stop')\nprint('never')\n")
	})
	_, err := c.RunFile(context.Background(), "-")
	var thrown *script.Error
	if !errors.As(err, &thrown) || thrown.Position() != "<stdin>:8:7" {
		t.Errorf("ended with %v %s", err, thrown.Position())
	}
	want := "switched to db config\n2\nconfig\n[ { _id: 'balancer' } ]\nadmin    40.00 KiB\napp     117.74 MiB\nconfig    3.34 MiB\ntiny         500 B\n"
	if c.Out.String() != want {
		t.Errorf("wrote\n%s", c.Out)
	}
	c = shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Stdin = strings.NewReader("if (true) {\n") })
	if _, err := c.RunFile(context.Background(), "-"); err == nil || !strings.HasPrefix(err.Error(), "SyntaxError: Unexpected end of input") {
		t.Errorf("unfinished input: %v", err)
	}
}

func TestHints(t *testing.T) {
	c := shelltest.Connect(t)
	shelltest.Run(t, c,
		step{"db.getSibilingDB('x')", "TypeError: app.getSibilingDB is a collection, not a function; did you mean getSiblingDB()?"},
		step{"db.orders.findOn()", "TypeError: app.orders.findOn is a collection, not a function; did you mean findOne()?"},
		step{"db.qqqqqqqq()", "TypeError: app.qqqqqqqq is a collection, not a function"},
		step{"while (sh.isBalancerRunning()) { break }", "Warning: repl:1: sh.isBalancerRunning() returns a document, which is always true; use sh.isBalancerInRound()"},
		step{"if (sh.isBalancerRunning().inBalancerRound) 1", ""},
		step{"5", "5"},
		step{"_ + 1", "6"},
		step{"throw new Error('x')", "Error: x"},
		step{"_error.message", "x"},
	)
	bad := filepath.Join(t.TempDir(), "bad.js")
	if err := os.WriteFile(bad, []byte("let x = ;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shelltest.Run(t, c, step{"load('" + bad + "')", "SyntaxError: " + bad + ": Unexpected token ; (1:8)"})
}

// TestHostileValues: scripts cannot take the shell down with objects that bite.
func TestHostileValues(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"throw {get code() { throw 1 }}", "Error: a value was thrown that cannot be inspected"},
		step{"throw {toString() { throw 1 }, get message() { throw 2 }, code: 1, get errmsg() { throw 3 }}", "Error: a value was thrown that cannot be inspected"},
		step{"db.orders.insertOne(Object.freeze({a: 1}))", "TypeError: Cannot add property _id, object is not extensible"},
		step{"db.orders.insertOne({get a() { throw new Error('bite') }})", "Error: bite"},
		step{"db.orders.find({}, {}, {get limit() { throw new Error('bite') }})", "Error: bite"},
		step{"db.orders.find().map(() => { throw new Error('bite') }).toArray()", "Error: bite"},
		step{"db.getSiblingDB.call(5, 'x')", "TypeError: getSiblingDB was called on something that is not a Database"},
		step{"Object.prototype.polluted = 1; db.orders.findOne({_id: 1})", "{ _id: 1, a: 'v1' }"},
		step{"delete Object.prototype.polluted; Promise.resolve(1).then(x => x + 1)", "2"},
	)
}
