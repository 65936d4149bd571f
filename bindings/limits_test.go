package bindings_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

// TestMemoryLimit: a program that takes too much memory ends, whatever it
// catches, and the shell goes on.
func TestMemoryLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.MemoryLimit = now.HeapAlloc + 64<<20 })
	_, err := c.Eval(t.Context(), "f.js", "let a = [];\ntry { while (true) a.push(new Array(1e5).fill(1)) } catch (e) { print('caught') } finally { print('finally') }")
	var thrown *script.Error
	if !errors.As(err, &thrown) || !strings.Contains(thrown.Message, "MiB of memory") || thrown.Line != 2 {
		t.Errorf("ended with %v at %s", err, thrown.Position())
	}
	if c.Out.Len() > 0 {
		t.Errorf("the script went on: %s", c.Out)
	}
	shelltest.Run(t, c, step{"a = null; 1", "1"})
}

// TestEndlessRecursion: whatever calls back, recursion ends with an error and
// the shell goes on.
func TestEndlessRecursion(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	const want = "RangeError: Maximum call stack size exceeded"
	c := shelltest.Connect(t)
	for _, source := range []string{
		"(function f() { f() })()",
		"(function f() { [1].forEach(f) })()",
		"(function f() { [2, 1].sort(f) })()",
		"(function f() { db.orders.find().limit(1).forEach(f) })()",
		"const o1 = {toJSON() { return JSON.stringify(o1) }}; JSON.stringify(o1)",
		"const o2 = {toString() { return '' + o2 }}; '' + o2",
		"const o3 = {get a() { return o3.a }}; o3.a",
		"const o4 = new Proxy({}, {get(t, k, r) { return r[k] }}); o4.a",
		"class A1 { constructor() { new A1() } }; new A1()",
		"(function f() { eval('f()') })()",
		"(function f() { assert.throws(f) })()",
		"(function f() { try { f() } finally { 1 } })()",
	} {
		shelltest.Run(t, c, step{source, want}, step{"1 + 1", "2"})
	}
}

// TestDeepValues: values nested deeper than the stack do not end the process.
func TestDeepValues(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	c := shelltest.Connect(t)
	shelltest.Run(t, c, step{"var deep = []; for (let i = 0; i < 20000; i++) deep = [deep]; 1", "1"})
	for _, source := range []string{"JSON.stringify(deep).length", "String(deep).length", "EJSON.stringify(deep)", "tojson(deep).length", "db.orders.insertOne({deep})", "structuredClone(deep) && 1", "deep.flat(Infinity).length", "print(deep)", "assert.deepEqual(deep, deep)"} {
		got, _ := c.Show(source)
		if got == "" && !strings.HasPrefix(source, "assert") {
			t.Errorf("%s shows nothing", source)
		}
		shelltest.Run(t, c, step{"1 + 1", "2"})
	}
}
