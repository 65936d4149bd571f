package script

import (
	"fmt"
	"testing"
)

func TestAppendInPrograms(t *testing.T) {
	s := NewEngine(Options{})
	defer func() { _ = s.Close(t.Context()) }()
	for source, want := range map[string]string{
		`let s = ""; for (let i = 0; i < 2000; i++) s += "line " + i + "\n"; s.length + s.slice(-5)`: "188901999\n",
		`var n = 5; n += "x"; n`:                        "5x",
		`var o = {valueOf() { return 7 }}; o += "x"; o`: "7x",
		`var u; u += "x"; u`:                            "undefinedx",
		`(() => { const c = "a"; try { c += "b" } catch (e) { return e.name + c } })()`:            "TypeErrora",
		`try { nowhere += "b" } catch (e) { e.name }`:                                              "ReferenceError",
		`try { var y = Symbol(); y += "b" } catch (e) { e.name }`:                                  "TypeError",
		`let a = "x".repeat(600), b = a; a += "1"; b += "2"; a.slice(-1) + b.slice(-1) + a.length`: "12601",
		`let u2 = "é".repeat(600); u2 += "\ud83d"; u2 += "\ude00"; u2.slice(-2) + u2.length`:       "😀602",
	} {
		r, err := s.Eval(t.Context(), "test", source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got := fmt.Sprint(r.Value); got != want {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
	}
}
