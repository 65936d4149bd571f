package bindings_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

// moduleFiles are the files of the tests about modules.
var moduleFiles = map[string]string{
	"lib.mjs": `import { existsSync } from "node:fs";
export const base = 10;
export default function twice(x) { return 2 * x; }
export function fail(x) {
  return x.nope.deeper;
}
export let counter = 0;
export function inc() { counter++; return existsSync("/"); }
`,
	"types.ts": `interface Row { _id: number; name?: string }
export enum Color { Red = 1, Green }
export const row = (id: number): Row => ({ _id: id });
`,
	"slow.mjs":  "export const slow = await Promise.resolve(7);\n",
	"data.json": `{"n": 5}`,
	"old.cjs":   "exports.seen = typeof print + typeof ObjectId;",
	"main.mjs": `#!/usr/bin/env shardsh
import twice, { base, inc, counter } from "./lib.mjs";
import * as types from "./types.ts";
import { slow } from "./slow.mjs";
import data from "./data.json";
import old from "./old.cjs";
inc();
print(twice(base), counter, data.n, types.Color.Green, types.row(3), slow, old.seen);
print(import.meta.url === "file://" + __filename, import.meta.dirname === __dirname);
print(await new Promise(r => setTimeout(r, 3600000, "later")), typeof ObjectId);
const late = await import("./lib.mjs");
print(late.default(4), late.base);
for await (const d of db.orders.find({}, {_id: 1}).sort({_id: 1}).limit(2)) print(d);
`,
	"script.ts": `type A = { a: number };
const v: A = { a: 1 };
class P { constructor(private x: number) {} get() { return this.x } }
var fromScript: number = new P(v.a + 1).get();
`,
	"fails.mjs":                     "import { fail } from './lib.mjs';\n\nfail({});\n",
	"a.js":                          "exports.early = 1; exports.b = require('./b'); exports.late = 2;",
	"b.js":                          "const a = require('./a'); exports.saw = [a.early, a.late]; exports.whole = () => a.late;",
	"node_modules/pkg/package.json": `{"main": "lib/start.js"}`,
	"node_modules/pkg/lib/start.js": "module.exports = x => 'pkg ' + x;",
	"sub/inner.js":                  "module.exports = [require('../data').n, require('pkg')(__dirname.endsWith('sub'))];",
	"sub/load.js":                   "load('./other.js'); load('top.js');",
	"sub/other.js":                  "print('beside');",
	"made.mjs":                      "import { createRequire } from 'module'; export default typeof createRequire;",
	"tty.mjs":                       "import tty from 'tty';",
	"sub/top.js":                    "print('wrong top');",
	"other.js":                      "print('wrong other');",
	"top.js":                        "print('top');",
	"await.js":                      "var awaited = await new Promise(r => setTimeout(r, 5, 'done'));",
	"brand.js":                      "class A { #m; static is(o) { return #m in o } }\nvar brands = [A.is(new A), A.is({})];",
}

// inModules changes to a directory with moduleFiles.
func inModules(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range moduleFiles {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("HOME", filepath.Join(dir, "home"))
	return dir
}

func TestModuleFile(t *testing.T) {
	inModules(t)
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Interactive = false })
	if _, err := c.RunFile(context.Background(), "main.mjs"); err != nil {
		t.Fatal(err)
	}
	want := "20 1 5 2 { _id: 3 } 7 functionfunction\ntrue true\nlater function\n8 10\n{ _id: 0 }\n{ _id: 1 }\n"
	if c.Out.String() != want {
		t.Errorf("main.mjs wrote\n%s", c.Out)
	}
}

func TestModulesInInputs(t *testing.T) {
	inModules(t)
	shelltest.Run(t, shelltest.Connect(t),
		step{`import fs, {existsSync as there} from "fs"; there("data.json")`, "true"},
		step{`fs.existsSync("none")`, "false"}, // what one input imports is there in the next
		step{`import * as lib from "./lib.mjs"; import {slow} from "./slow.mjs"; lib.default(slow)`, "14"},
		step{`slow + lib.base`, "17"},
		step{`import twice from "./lib.mjs"; twice === lib.default`, "true"},
		step{`(await import("./lib.mjs")).base`, "10"},
		step{`require("./types.ts").Color.Green`, "2"},
		step{`require("./lib.mjs").base`, "10"},
		step{`require("./slow.mjs").slow`, "7"}, // it has ended by now
		step{`load("script.ts"); fromScript`, "2"},
		step{`require("./a").b.saw`, "[ 1, undefined ]"},
		step{`require("./a").b.whole()`, "2"},
		step{`require("./sub/inner")`, "[ 5, 'pkg true' ]"},
		step{`load("sub/load.js")`, "beside\ntop\ntrue"},
		step{`await load("await.js"); awaited`, "done"},
		step{`load("brand.js"); brands`, "[ true, false ]"},
		step{`require.resolve("./data.json") === process.cwd() + "/data.json"`, "true"},
		step{`require("module").createRequire(process.cwd() + "/sub/x.js")("./inner")`, "[ 5, 'pkg true' ]"},
		step{`require("module").createRequire("file://" + process.cwd() + "/sub/x.js")("./inner")`, "[ 5, 'pkg true' ]"},
		step{`require("module").createRequire("x.js")`,
			`TypeError: createRequire takes an absolute path or a file URL, not "x.js"`},
		step{`require("./made.mjs").default`, "function"},
		step{`require("./tty.mjs")`, "Error: module 'tty' is not available in shardsh"},
		step{`require("http")`, "Error: module 'http' is not available in shardsh"},
		step{`require("node:child_process")`, "Error: module 'child_process' is not available in shardsh"},
		step{`try { require("./none") } catch (e) { e.code }`, "MODULE_NOT_FOUND"},
		step{`import {nothing} from "./none.mjs"`, "Error: Cannot find module './none.mjs'"},
		step{`export const x = 1`, "SyntaxError: export is for files (1:0)"},
		step{`import x fom "fs"`, `SyntaxError: Expected "from" but found "fom" (1:9)`},
	)
	shelltest.Run(t, shelltest.Connect(t), step{`require("./slow.mjs")`, "Error: the module awaits at its top level; use import"})
}

// SHARDSH_PATH names folders whose modules are found from everywhere, after those of
// the working directory and before those at home.
func TestModulesOfSharedFolders(t *testing.T) {
	dir, shared := inModules(t), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(shared, "second", "mine.js"):               "module.exports = 'second';",
		filepath.Join(shared, "second", "tool", "package.json"):  `{"main": "start.js"}`,
		filepath.Join(shared, "second", "tool", "start.js"):      "module.exports = 'tool';",
		filepath.Join(shared, "second", "told.js"):               "print('told');",
		filepath.Join(shared, "first", "mine.js"):                "module.exports = 'first';",
		filepath.Join(shared, "first", "over.mjs"):               "export const at = 'first';",
		filepath.Join(shared, "first", "top.js"):                 "print('shared top');",
		filepath.Join(dir, "home", ".shardsh", "lib", "own.js"):  "module.exports = 'own';",
		filepath.Join(dir, "home", ".shardsh", "lib", "mine.js"): "module.exports = 'home';",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := string(os.PathListSeparator)
	t.Setenv(script.PathEnv, filepath.Join(shared, "first")+list+list+filepath.Join(shared, "second"))
	shelltest.Run(t, shelltest.Connect(t),
		step{`require("mine")`, "first"},
		step{`require("tool") + require("own")`, "toolown"},
		step{`import mine from "mine"; import { at } from "over"; mine + at`, "firstfirst"},
		step{`load("told.js")`, "told\ntrue"},
		step{`load("top.js")`, "top\ntrue"}, // that of the working directory
		step{`require("./mine")`, "first"},  // as from the user's library
	)
	sandboxed := func(read ...string) *connected {
		return shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Sandbox = &sandbox.Rules{ReadPaths: read} })
	}
	refused := filepath.Join(shared, "first", "mine.js")
	shelltest.Run(t, sandboxed(), step{`require("mine")`, "Error: EACCES: --sandbox: scripts may not read " + refused +
		"; --allow-read " + refused + " would allow it"})
	shelltest.Run(t, sandboxed(shared), step{`require("mine") + require("tool")`, "firsttool"})
}

func TestForAwait(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"var total = 0; for await (const d of db.orders.find({_id: {$lt: 4}})) total += d._id; total", "6"},
		step{"async function* twoOf(x) { yield x; yield await Promise.resolve(x) }", ""},
		step{"const two = []; for await (const x of twoOf(4)) two.push(x); two", "[ 4, 4 ]"},
		step{"var more = 'mine', error = 'mine'; for await (const x of [Promise.resolve(1)]) more += x; more + error", "mine1mine"},
		step{"async function sum(c) { let n = 0; for await (const d of c) n += d._id; return n }\nsum(db.orders.find({_id: {$lt: 3}}))", "3"},
		step{"Object.keys(globalThis).filter(k => k.startsWith('__'))", "[]"},
	)
}

// TestPlacesInTranslatedFiles: errors point at the text the user wrote.
func TestPlacesInTranslatedFiles(t *testing.T) {
	dir := inModules(t)
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bad.ts", "let x: number = 1;\nlet y: number = ;\n")
	write("typed.ts", "interface A {\n  a: number\n}\nconst a: A | null = null;\nfunction f(x: any) {\n  const deep: any = x.a.b;\n}\nf(1);\n")
	write("imports.mjs", "import {a} from './bad.ts';\n")
	write("missing.mjs", "import twice from './lib.mjs';\nimport {nothere} from './lib.mjs';\nprint(nothere);\n")
	write("throws.mjs", "import {base} from './lib.mjs';\nthrow new Error('here');\n")
	write("later.mjs", "import {base} from './lib.mjs';\nawait 1;\nthrow new Error('here');\n")
	write("plain.js", "for await (const x of [1]) print(x);\n\n   nosuch;\n")
	for name, want := range map[string]string{
		"fails.mjs":   filepath.Join(dir, "lib.mjs") + ":5:17   return x.nope.deeper;",
		"bad.ts":      "bad.ts:2:17 let y: number = ;",
		"typed.ts":    "typed.ts:6:25   const deep: any = x.a.b;",
		"imports.mjs": filepath.Join(dir, "bad.ts") + ":2:17 let y: number = ;",
		"missing.mjs": "missing.mjs:2:9 import {nothere} from './lib.mjs';",
		"plain.js":    "plain.js:3:4    nosuch;",
		"throws.mjs":  "throws.mjs:2:7 throw new Error('here');",
		"later.mjs":   "later.mjs:3:7 throw new Error('here');",
		filepath.Join("..", filepath.Base(dir), "later.mjs"): filepath.Join("..", filepath.Base(dir), "later.mjs") + ":3:7 throw new Error('here');",
	} {
		c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Interactive = false })
		_, err := c.RunFile(context.Background(), name)
		var thrown *script.Error
		if !errors.As(err, &thrown) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := thrown.Position() + " " + thrown.SourceLine; got != want {
			t.Errorf("%s: %s at %s\nwant %s", name, thrown, got, want)
		}
	}
}

func TestIncompleteModules(t *testing.T) {
	for source, want := range map[string]bool{
		"import {": true, "import fs from 'fs'": false, "for await (const x of y) {": true, "for await (const x of y) 1": false,
		"async function* g() {": true, "import x fom": false,
	} {
		if got := script.Incomplete(source); got != want {
			t.Errorf("Incomplete(%q) is %v", source, got)
		}
	}
}

// Scripts and modules declare again what the last program of a run declared, and find
// its variables as they find those of any other.
func TestModulesOfLastProgram(t *testing.T) {
	dir := inModules(t)
	for name, text := range map[string]string{
		"again.js":  `function f() { return "again" } var v = 2, w = 3`,
		"loader.js": `load("again.js")`,
		"looks.mjs": `export default JSON.stringify(Object.getOwnPropertyDescriptor(globalThis, "v"))`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const plain = `{"value":1,"writable":true,"enumerable":true,"configurable":false}`
	for source, want := range map[string]string{
		`function f() { return 1 } let v = 1; require("./loader.js"); f() + v + w`: "again23",
		`function f() { return 1 } let v = 1; load("again.js"); f() + v + w`:       "again23",
		`let v = 1; import looks from "./looks.mjs"; looks`:                        plain,
		`let v = 1; JSON.stringify(Object.getOwnPropertyDescriptor(this, "v"))`:    plain,
		`let v = 1; Object.defineProperty(globalThis, "v", {value: 5}); v`:         "5",
	} {
		c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Interactive = false })
		c.JS.IsLastInput = true
		result, err := c.JS.Eval(t.Context(), "f.js", source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
		} else if got := result.Value.String(); got != want {
			t.Errorf("%s gives %s, want %s", source, got, want)
		}
	}
}
