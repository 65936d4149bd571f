package script

import "testing"

// A program whose variables others use, or that looks at the global object, has them
// there as plain values; one that only reads as if it did has a scope of its own.
func TestShares(t *testing.T) {
	builtin := func(name string) bool { return name == "fs" || name == "path" }
	for source, want := range map[string]bool{
		`let a = 1; a`:                                                  false,
		`let a = 1; load("x.js")`:                                       true,
		`let a = 1; eval("a")`:                                          true,
		`let a = 1; const e = eval; e("a")`:                             true,
		`let a = 1; globalThis.eval("a")`:                               true,
		`let a = require("./x")`:                                        true,
		`let a = require("/x.js")`:                                      true,
		`let a = require("x")`:                                          true, // a package, which is files as well
		`let n = "./x"; require(n)`:                                     true,
		`let r = require; r("./x")`:                                     true,
		`let a = require.resolve("fs")`:                                 true,
		`let a = require("fs"), b = require("node:path")`:               false,
		`import fs from "fs"; let a = 1`:                                false,
		`import x from "./x.mjs"; let a = 1`:                            true,
		`let a = import("./x.mjs")`:                                     true,
		`import {createRequire} from "module"; let a = 1`:               true,
		`let a = 1; Object.keys(globalThis)`:                            true,
		`let a = 1; print(global.a)`:                                    true,
		`let a = 1; print(this)`:                                        true,
		`let a = 1; [1].map(() => this.a)`:                              true,
		`const f = function () { return this }`:                         false,
		`class A { x = this; static { this.y = 1 } }`:                   false,
		`const o = {m() { return this.load }, get g() { return this }}`: false,
		`let a = 1 // load this, or require what is global`:             false,
		`let a = "eval(this)"; a.load`:                                  false,
		`let a = {load: 1, eval: 2}; a.global`:                          false,
		`let a = await 1; print(this)`:                                  true,
	} {
		p, err := parseProgram("f.js", source)
		if err != nil {
			t.Fatal(source, err)
		}
		if got := p.sharesVariables(builtin); got != want {
			t.Errorf("%s: %v", source, got)
		}
	}
}
