package gojamem

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
	"pgregory.net/rapid"
)

// known returns the Memory of a new runtime.
func known(t *testing.T) (*goja.Runtime, *Memory) {
	t.Helper()
	if IsDisabled() {
		t.Skip(DisableEnv + " turns the package off")
	}
	rt := goja.New()
	return rt, New(rt, false)
}

func TestLayoutIsKnown(t *testing.T) {
	_, m := known(t)
	if !m.CanRead() || m.dateKind == nil || m.prototypes[0].kind == nil || m.prototypes[1].kind == nil {
		t.Errorf("this release of goja is not known: %+v", m.layout)
	}
}

// An empty Memory answers nothing, of whatever object.
func TestSafe(t *testing.T) {
	rt := goja.New()
	t.Setenv(DisableEnv, "1")
	for name, m := range map[string]*Memory{"by the option": New(rt, true), "by the environment": New(rt, false)} {
		if m.CanRead() {
			t.Errorf("%s: it is not off", name)
		}
		date, err := rt.New(rt.Get("Date"))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []*goja.Object{rt.NewObject(), rt.NewArray(1), date} {
			_, _, fields := m.Fields(o, nil)
			_, _, names := m.Names(o)
			_, isDate := m.DateMillis(o)
			if fields || names || isDate || m.Item(o, 0) != nil || m.PrototypeLacks(o, "x") {
				t.Errorf("%s: a %s is read", name, o.ClassName())
			}
		}
		long := rt.ToValue(strings.Repeat("x", 2*minGrowingText))
		if m.Append(rt, long, long) != nil {
			t.Errorf("%s: a text grows", name)
		}
	}
}

// A layout that leads elsewhere is found out.
func TestOtherLayoutsAreRefused(t *testing.T) {
	rt, m := known(t)
	for name, change := range map[string]func(l *layout){
		"objects taken for arrays": func(l *layout) { l.objectKind, l.arrayKind = l.arrayKind, l.objectKind },
		"properties not known":     func(l *layout) { l.propertyKind = nil },
		"another flag":             func(l *layout) { l.enumerable++ },
	} {
		other := &Memory{layout: m.layout}
		change(&other.layout)
		if other.selfCheck(rt) {
			t.Errorf("%s: nothing is noticed", name)
		}
	}
}

// Texts that grow in place are what the engine's own + makes of the same pieces,
// and so are all earlier ones, whoever goes on with them.
func TestAppendedTexts(t *testing.T) {
	if IsDisabled() {
		t.Skip(DisableEnv + " turns the package off")
	}
	rt := goja.New()
	plus, _ := goja.AssertFunction(must(rt.RunString("(a, b) => a + b")))
	pieces := rapid.SampledFrom([]string{"", "a", "line\n", "\x00", strings.Repeat("0123456789", 100), "é", "😀"})
	rapid.Check(t, func(t *rapid.T) {
		m := New(rt, false)
		long := rapid.SampledFrom([]int{0, minGrowingText - 1, minGrowingText, 3 * minGrowingText}).Draw(t, "long")
		start := rt.ToValue(strings.Repeat("x", long))
		got, want := []goja.Value{start}, []goja.Value{start}
		for range rapid.IntRange(1, 40).Draw(t, "pieces") {
			i := rapid.IntRange(0, min(3, len(got))-1).Draw(t, "back")
			piece := rt.ToValue(pieces.Draw(t, "piece"))
			on := len(got) - 1 - i
			v := m.Append(rt, got[on], piece)
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
