package script

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"pgregory.net/rapid"
)

// Nobody sees whether a program has a scope of its own: not in its values, errors and
// what it prints, and not in what others find under its names.
func TestOwnScope(t *testing.T) {
	for _, source := range []string{
		``, `1`, `5; let a = 2`, `let a = 1, b = a + 1; a + b`, `var a`, `a = 3; var a; a`,
		`5; { let z = 1; var a = 2 }`,
		`typeof a; let a = 1`, `let a = 1; let a; a`, `const a = 1; a = 2; a`, `let print = 3; print`,
		`f(); function f() { return a } let a = 1`, `function f() { return 1 } function f() { return 2 } f()`,
		`var f = 1; function f() { } f`, `function f() { }`, `class A { m() { return 7 } }`,
		`class A { } new A() instanceof A`,
		`async function f() { await 1; a++ } let a = 1; f(); a`, `let a = 1; await 1; var b = a; a + b`,
		`if (1) { var a = 1 } else var a = 2`, `3; if (1) var a = 1`,
		`for (var a = 0, b; a < 3; a++) { var c = a }`,
		`for (var a in {x: 1}) a`, `for (var [a, b = 2] of [[1], [3, 4]]) a + b`,
		`for (var i = 0; ;) { if (i++ > 2) break }`,
		`var {a, b: [c, ...d], ...e} = {a: 1, b: [2, 3, 4], f: 5}; [a, c, d, e.f].join()`,
		`const {a = 1} = {}, b = 2; a + b`,
		`switch (2) { case 1: var a = 1; case 2: var a = 2; default: a }`,
		`out: for (;;) { var a = 1; break out } a`,
		`try { var a = 1; throw a } catch (e) { var b = e } finally { var c = 3 }; a + b + c`,
		`let f = () => 1, g = class { }; f.name + g.name`,
		`do var a = 1; while (a < 0)`, `while (true) { var a = 4; break }`,
		`with ({a: 1, x: 2}) { var a = 5, b = x } [a, b].join()`,
		`this.a = 5; var a; a`, `let a = 1; this.a + globalThis.a`, `let a = 1; this.a = 6; a`,
		`let a = 1; (function () { delete this.a; this.a += 5; return this.a })() + a`,
		`let a = 1; new Function("a += 5; return a")() + a`, `let a = 1; eval("a += 2; var b = 7"); a + b`,
		`"use strict"; let a = 1; (function () { return this })() === undefined && a`, `"use strict"; b = 1`,
		`let a = null; a.foo`, `let a; a.foo`, `let a = {b: null}; a.b.c`, `let a = 1; a()`,
		`undeclared + 1; let a`,
		"let a = 1;\nfunction f(x) { throw new Error(x + a) }\nf(2)", "let a =\n\n null.x",
		`let a = []; for (let i = 0; i < 3; i++) a.push(() => i + a.length); a.map(f => f()).join()`,
		`function* g() { yield a; yield ++a } let a = 1; [...g()].join()`, `label: function f() { return 1 } f()`,
		`let value = 1, v = 2, __unused = 3; value + v + __unused`, `{ let a; var a }`, `var let = 1; let`,
		`var yield = 1; yield`,
		`var undefined; var NaN = 1; NaN`, `var toString = 1; toString`,
		`function print2() { return arguments.length } print2(1, 2)`,
		`let a = 1; setTimeout(() => { a++; print(a) }, 1); a`,
		`let a = 1, p = Promise.resolve().then(() => print(++a)); a`,
		`return 5`, `let a = 1; return a`, `let a = "x"; for (const c of "abc") a += "more of " + c; a`,
		`enum2 = 1; let a = enum2 << 1; a ** 2n`, `let a = 2n; a ** 3n`, `import fs from "fs"; let a = 1; a`,
		`function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } fib(10)`,
		`if (1) { function h() { return 1 } } typeof h`,
		`let a = 1; { let a = 2; { a++ } print(a) } a`, `let __proto__ = 1; __proto__`,
		`let constructor = 1; constructor`,
	} {
		if plain, own := ran(t, source, false), ran(t, source, true); plain != own {
			t.Errorf("%s\nis of its own\n%s\nand without\n%s", source, own, plain)
		}
	}
}

// The same of programs that are made up.
func TestOwnScopeOfAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		source := "var n = 0\n" + strings.Join(statements(r, 3), "\n")
		if plain, own := ran(t, source, false), ran(t, source, true); plain != own {
			r.Fatalf("%s\nis of its own\n%s\nand without\n%s", source, own, plain)
		}
	})
}

// Ten times as many functions and variables take about ten times as long: a hundred
// times, if each is looked for among all.
func BenchmarkOwnScope(b *testing.B) {
	for _, n := range []int{400, 4000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var source strings.Builder
			for i := range n {
				fmt.Fprintf(&source, "function f%d() { }\nvar v%d\n", i, i)
			}
			for b.Loop() {
				p, err := parseProgram("f.js", source.String())
				if err != nil {
					b.Fatal(err)
				}
				p.wrapInOwnScope()
			}
		})
	}
}

// statements makes up some of a program; N is a name and S are statements.
func statements(r *rapid.T, depth int) (list []string) {
	forms := []string{
		"let N = N", "const N = 1", "var N", "var N = typeof N, N = 2", "N", "N = N + 1", "N++", "print(N, typeof N)",
		"var [N, N = 3] = [4]", "var {N, x: N} = {x: 5}", "(function () { this.N = 6 })()",
		"print((function () { return this.N })())", "let N = () => N",
		"function N(x) { N = x; return N }", "class N { m() { return N } }", "N(7)", "N.foo", "new Function('N++')()",
	}
	if depth > 0 {
		forms = append(forms, "if (N) { S }", "if (!N) var N = 1; else { S }", "for (var N = 0; N < 2; N++) { S }",
			"for (let i = 0; i < 2; i++) { S }", "for (var N in {k: 1}) { S }", "for (var N of [8, 9]) { S }", "{ S }",
			"try { S } catch (e) { print(e.message) } finally { S }", "switch (N) { case 1: S; default: S }",
			"(function () { S })()", "(() => { S })()", "x: for (;;) { S; break x }", "do { S } while (N++ < 3)")
	}
	for range rapid.IntRange(1, 4).Draw(r, "statements") {
		form := strings.ReplaceAll(rapid.SampledFrom(forms).Draw(r, "form"), "{ S", "{ print(n); S")
		var b strings.Builder
		for _, c := range form {
			switch c {
			case 'N':
				b.WriteString(rapid.SampledFrom([]string{"a", "b", "c", "d", "n"}).Draw(r, "name"))
			case 'S':
				b.WriteString(strings.Join(statements(r, depth-1), ";\n"))
			default:
				b.WriteRune(c)
			}
		}
		list = append(list, b.String())
	}
	return list
}

// ran tells what can be seen of a program that is run.
func ran(t *testing.T, source string, own bool) string {
	t.Helper()
	var out strings.Builder
	e := NewEngine(Options{Stdout: &out})
	e.Runtime.SetMaxCallStackSize(50)
	before := e.Runtime.GlobalObject().GetOwnPropertyNames()
	Define(e.Runtime.GlobalObject(), "print", e.Runtime.ToValue(func(c goja.FunctionCall) goja.Value {
		fmt.Fprintln(&out, c.Arguments)
		if out.Len() > 1000 { // a loop without an end
			e.Runtime.Interrupt("enough")
		}
		return nil
	}))
	e.IsLastInput = own
	result, err := e.Eval(t.Context(), "f.js", "/**/"+source)
	fmt.Fprintln(&out, "gives", result.Value, "and", err)
	var failure *Error
	if errors.As(err, &failure) {
		inCode := regexp.MustCompile(`\(\d+\)`) // where in what the engine made of it
		fmt.Fprintln(&out, failure.Position(), inCode.ReplaceAllString(failure.Stack, ""))
	}
	names := slices.DeleteFunc(e.Runtime.GlobalObject().GetOwnPropertyNames(), func(name string) bool {
		return slices.Contains(before, name)
	})
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintln(&out, name, e.Runtime.GlobalObject().Get(name))
	}
	return out.String()
}
