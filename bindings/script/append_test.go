package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"pgregory.net/rapid"
)

// Texts that grow in place are what the engine's own + makes of the same pieces,
// and so are all earlier ones, whoever goes on with them.
func TestAppendedTexts(t *testing.T) {
	rt := goja.New()
	plus, _ := goja.AssertFunction(must(rt.RunString("(a, b) => a + b")))
	pieces := rapid.SampledFrom([]string{"", "a", "line\n", "\x00", strings.Repeat("0123456789", 100), "é", "😀"})
	rapid.Check(t, func(t *rapid.T) {
		var texts grown
		long := rapid.SampledFrom([]int{0, longText - 1, longText, 3 * longText}).Draw(t, "long")
		start := rt.ToValue(strings.Repeat("x", long))
		got, want := []goja.Value{start}, []goja.Value{start}
		for range rapid.IntRange(1, 40).Draw(t, "pieces") {
			i := rapid.IntRange(0, min(3, len(got))-1).Draw(t, "back")
			piece := rt.ToValue(pieces.Draw(t, "piece"))
			on := len(got) - 1 - i
			v := texts.add(rt, got[on], piece)
			if v == nil {
				v = must(plus(nil, got[on], piece))
			}
			got, want = append(got, v), append(want, must(plus(nil, want[on], piece)))
		}
		for i := range got {
			if !got[i].StrictEquals(want[i]) || got[i].(goja.String).Length() != want[i].(goja.String).Length() {
				t.Fatalf("text %d is %.99q, want %.99q", i, got[i], want[i])
			}
		}
	})
}

func must(v goja.Value, err error) goja.Value {
	if err != nil {
		panic(err)
	}
	return v
}

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
