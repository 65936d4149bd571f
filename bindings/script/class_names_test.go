package script

import (
	"errors"
	"strings"
	"testing"
)

// The engine finds the variables around a class without a name in the wrong place
// when one of its methods calls eval.
func TestClassesWithEval(t *testing.T) {
	e := NewEngine(Options{})
	for source, want := range map[string]string{
		`(() => { const p = {f() { return 7 }}; const A = class { m({a = p.f()} = {}) { return a } n() { eval("1") } };
			return new A().m() + A.name })()`: "7A",
		`(() => { const p = 7; return new (class { m(...[a = p]) { return a } n() { eval("1") } })().m() })()`: "7",
		`(() => { const p = 7; return (class { n() { eval("1") } }).name + p })()`:                             "7",
		`(() => { const p = 7; class A { m({a = p} = {}) { return eval("a + p") } }; return new A().m() })()`:  "14",
		`(() => { let p = 7, d = 8; { let e = 9; return new (class { x = eval("p"); m([a = e] = []) {
			return this.x + a + d } })().m() } })()`: "24",
		`(() => { let A = 1, B; B = class { m() { return eval("typeof A") } }; return new B().m() })()`: "number",
	} {
		r, err := e.Eval(t.Context(), "f.js", source)
		if err != nil || r.Value.String() != want {
			t.Errorf("%s\nis %v (%v), want %s", source, r.Value, err, want)
		}
	}
}

// A fault of the engine is an error with a place, and the next program runs.
func TestEngineFaults(t *testing.T) {
	e := NewEngine(Options{})
	Define(e.Runtime.GlobalObject(), "fault", e.Runtime.ToValue(func() { panic("broken") }))
	_, err := e.Eval(t.Context(), "f.js", "let n = 1;\nfunction f() { fault() }\n\ntry { f() } catch (e) { n = 2 }")
	var thrown *Error
	if !errors.As(err, &thrown) || thrown.Name != internalErrorName || thrown.Position() == "" || !strings.HasPrefix(thrown.Position(), "f.js:4") ||
		!strings.Contains(thrown.Message, "broken") {
		t.Errorf("%v at %s", err, thrown.Position())
	}
	if r, err := e.Eval(t.Context(), "g.js", "[1, 2].map(x => x + n).join()"); err != nil || r.Value.String() != "2,3" {
		t.Errorf("%v, %v", r.Value, err)
	}
}
