package script

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	SetMatchTimeout(500 * time.Millisecond)
	m.Run()
}

// hostile are programs that would take all memory, or minutes in a place where
// nothing can end them, with the error that they end with.
var hostile = []struct{ source, want string }{
	{`"x".repeat(2**33)`, "RangeError: Invalid string length"},
	{`"x".repeat({valueOf: () => 2**33})`, "RangeError: Invalid string length"},
	{`"x".padStart(2**33)`, "RangeError: Invalid string length"},
	{`"x".padEnd(2**53, "ab")`, "RangeError: Invalid string length"},
	{`const s = "x".repeat(2**24); s.concat(...Array(40).fill(s))`, "RangeError: Invalid string length"},
	{`"x".repeat(1e7).replace(/x/g, "y".repeat(1e5))`, "RangeError: Invalid string length"},
	{`"x".repeat(1e7).replaceAll("x", "y".repeat(1e5))`, "RangeError: Invalid string length"},
	{"\"x\".repeat(1e6).replace(/x/g, \"$`\")", "RangeError: Invalid string length"},
	{`new Array(2**32-1).join("x")`, "RangeError: Invalid array length"},
	{`new Array(1e6).join("x".repeat(1e4))`, "RangeError: Invalid string length"},
	{`new Array(2**32-1).fill(0)`, "RangeError: Invalid array length"},
	{`new Array(2**32-1).indexOf(1)`, "RangeError: Invalid array length"},
	{`new Array(2**32-1).includes(1)`, "RangeError: Invalid array length"},
	{`new Array(2**32-1).reverse()`, "RangeError: Invalid array length"},
	{`new Array(2**32-1).toSorted()`, "RangeError: Invalid array length"},
	{`Array.prototype.fill.call({length: 2**53-1}, 0)`, "RangeError: Invalid array length"},
	{`Array.from({length: 2**32})`, "RangeError: Invalid array length"},
	{`[].concat(new Array(2**32-1))`, "RangeError: Invalid array length"},
	{`Math.max.apply(null, {length: 2**31})`, "RangeError: Maximum call stack size exceeded"},
	{`Reflect.apply(Math.max, null, {length: 2**31})`, "RangeError: Maximum call stack size exceeded"},
	{`2n ** 10n**9n`, "RangeError: Maximum BigInt size exceeded"},
	{`let p = 2n; p **= 10n**9n`, "RangeError: Maximum BigInt size exceeded"},
	{`1n << 10n**12n`, "RangeError: Maximum BigInt size exceeded"},
	{`const one = BigInt(1), by = BigInt(2**40); one << by`, "RangeError: Maximum BigInt size exceeded"},
	{`1n >> -(10n**12n)`, "RangeError: Maximum BigInt size exceeded"},
	{`BigInt.asUintN(2**53-1, -1n)`, "RangeError: Maximum BigInt size exceeded"},
	{`eval("(".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`(0, eval)("(".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`globalThis.eval("(".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`const e = eval; e("(".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`eval("eval('('.repeat(1e6))")`, "RangeError: Maximum call stack size exceeded"},
	{`new Function("eval('('.repeat(1e6))")()`, "RangeError: Maximum call stack size exceeded"},
	{`new Function("(".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`Function("a", "[".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`new (function* () {}).constructor("(".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`new (async () => {}).constructor("(".repeat(1e6))`, "RangeError: Maximum call stack size exceeded"},
	{`JSON.parse("[".repeat(1e7))`, "RangeError: Maximum call stack size exceeded"},
	{`EJSON.parse("[".repeat(1e7))`, "RangeError: JSON text is nested more than 2000 levels"},
	{`new ArrayBuffer(2**40)`, "RangeError: Array buffer allocation failed"},
	{`new Uint8Array(2**40)`, "RangeError: Invalid typed array length: 1099511627776"},
	{`new Float64Array({length: 2**40})`, "RangeError: Invalid typed array length: 1099511627776"},
	{`let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a)`, "RangeError: Maximum call stack size exceeded"},
	{`let b = []; for (let i = 0; i < 1e5; i++) b = [b]; b.flat(Infinity)`, "RangeError: Maximum call stack size exceeded"},
	{`/(?=x)?(a+)+$/.exec("a".repeat(40)+"b")`, "RangeError: The regular expression was stopped: one match took longer than 500ms"},
	{`/^(\w+\s?)*\1$/.test("a".repeat(60)+"!")`, "RangeError: The regular expression was stopped: one match took longer than 500ms"},
	{`("a".repeat(60)+"!").replace(/^(\w+\s?)*\1$/, "")`, "RangeError: The regular expression was stopped: one match took longer than 500ms"},
	{`("a".repeat(60)+"!").match(/^(\w+\s?)*\1$/g)`, "RangeError: The regular expression was stopped: one match took longer than 500ms"},
	{`("a".repeat(60)+"!").split(/^(\w+\s?)*\1$/)`, "RangeError: The regular expression was stopped: one match took longer than 500ms"},
	{`[...("a".repeat(60)+"!").matchAll(/^(\w+\s?)*\1$/g)]`, "RangeError: The regular expression was stopped: one match took longer than 500ms"},
	{`const re = new RegExp("^(\\w+\\s?)*\\1$"); re.exec("a".repeat(60)+"!")`, "RangeError: The regular expression was stopped: one match took longer than 500ms"},
}

// TestHostilePrograms: each ends in time, with an error that can be caught and
// that a second program does not see.
func TestHostilePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	e := NewEngine(Options{MemoryLimit: 2 << 30})
	for _, tt := range hostile {
		start := time.Now()
		_, err := e.Eval(t.Context(), "f.js", "{"+tt.source+"}")
		var thrown *Error
		if !errors.As(err, &thrown) || thrown.Error() != tt.want || thrown.Position() == "" {
			t.Errorf("%s\nends with %v", tt.source, err)
		}
		if took := time.Since(start); took > 2*StuckTimeout {
			t.Errorf("%s took %v", tt.source, took)
		}
		if strings.Contains(tt.source, "let ") || strings.Contains(tt.source, "const ") {
			continue
		}
		r, err := e.Eval(t.Context(), "g.js", "try { "+tt.source+" } catch (e) { (e instanceof RangeError) + e.name }")
		if err != nil || r.Value.String() != "trueRangeError" {
			t.Errorf("%s: caught %v, %v", tt.source, r.Value, err)
		}
	}
}

// TestGuardedFunctions: what is guarded is what it was.
func TestGuardedFunctions(t *testing.T) {
	e := NewEngine(Options{})
	for source, want := range map[string]string{
		`"ab".repeat(2) + "a".padStart(3, "xy") + "a".padEnd(3)`:                                                          "ababxyaa  ",
		`"a".repeat.name + "a".repeat.length + [].concat.name`:                                                            "repeat1concat",
		`new Array(3).fill(1).concat([2], 3).join("")`:                                                                    "11123",
		`[1, [2, [3, [4]]]].flat(Infinity).join()`:                                                                        "1,2,3,4",
		`[[1, 2], [3, [4]]].toString() + String([1, [2]])`:                                                                "1,2,3,41,2",
		`new Uint8Array([1, 2, 300]).join() + new Uint8Array(new ArrayBuffer(8), 2, 3).length`:                            "1,2,443",
		`new Float64Array(2) instanceof Float64Array && new Float64Array(1).constructor === Float64Array`:                 "true",
		`Uint8Array.BYTES_PER_ELEMENT + Uint8Array.from([1, 2]).length + ArrayBuffer.isView(new Uint8Array(1))`:           "4",
		`class B extends Uint8Array { twice() { return this.length * 2 } }; new B(4).twice() + new B(4).slice(1).twice()`: "14",
		`Math.max.apply(null, [1, 3, 2]) + Reflect.apply(Math.max, null, [1, 2])`:                                         "5",
		`2n ** 10n + 1n << 3n`:                                                                                                    "8200",
		`let q = 3n; q <<= 2n; q **= 2n; q >>= 1n; q`:                                                                             "72",
		`const n = 2n; [2 ** 3, 1 << 4, -16 >> 2, typeof (n ** 2n)].join()`:                                                       "8,16,-4,bigint",
		`const z = 1n; try { z ** 2 } catch (e) { e.name }`:                                                                       "TypeError",
		`BigInt.asIntN(8, 255n) + BigInt.asUintN(2**53-1, 5n)`:                                                                    "4",
		`const x1 = 1; (() => { const x1 = 2; return eval("x1") })() + (0, eval)("x1") + eval("1; eval('x1')")`:                   "4",
		`(() => { eval("var inner = 5"); return inner })()`:                                                                       "5",
		`new Function("a", "b", "return eval('a + b')")(2, 3)`:                                                                    "5",
		`new Function() instanceof Function && Function.prototype.constructor === Function && (() => 1).constructor === Function`: "true",
		`typeof eval + (eval === globalThis.eval) + eval(7) + eval()`:                                                             "functiontrue7undefined",
		`JSON.stringify(JSON.parse('[[1, {"a": "[[["}]]'))`:                                                                       `[[1,{"a":"[[["}]]`,
		`"a-b-c".replace(/-/g, "+") + "a-b".split(/-/).length + "abc".search(/c/) + "aXbX".match(/X/g).length`:                    "a+b+c222",
		`[..."a1b2".matchAll(/\d/g)].map(m => m[0]).join() + /b/.test("abc") + /b(c)/.exec("abc")[1]`:                             "1,2truec",
		`const re1 = /a/g; let found = 0; while (re1.exec("aaa")) found++; found`:                                                 "3",
		`/^(?:a|b(?=c)|c)*$/.test("abc".repeat(8e3))`:                                                                             "true", // the library gives up below
	} {
		r, err := e.Eval(t.Context(), "f.js", source)
		if err != nil || r.Value.String() != want {
			t.Errorf("%s\nis %v (%v), want %s", source, r.Value, err, want)
		}
	}
}
