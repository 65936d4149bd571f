package values

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/dop251/goja"
)

// TestInspectAsNode compares the inspector with what Node 20 wrote for the
// same expressions (testdata/generate.js).
func TestInspectAsNode(t *testing.T) {
	path := "testdata/inspected.json"
	if p := os.Getenv("INSPECTED"); p != "" {
		path = p
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Src, Shown, Lines, Color, Full string }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	rt := goja.New()
	w := Install(rt, Options{})
	bad := 0
	for _, c := range cases {
		v, err := rt.RunString("(" + c.Src + ")")
		if err != nil {
			t.Errorf("%s: %v", c.Src, err)
			continue
		}
		lines := UnlimitedInspectOptions()
		lines.Compact = MultiLine
		color := DefaultInspectOptions()
		color.Color = true
		full := DefaultInspectOptions()
		full.Compact = CompactFull
		for _, form := range []struct {
			name, want string
			o          InspectOptions
		}{{"shown", c.Shown, DefaultInspectOptions()}, {"lines", c.Lines, lines}, {"color", c.Color, color},
			{"full", c.Full, full}} {
			if form.want == "" {
				continue
			}
			if got := w.Inspect(v, form.o); got != form.want {
				if bad++; bad < 20 {
					t.Errorf("%s %s\n--- want\n%s\n--- got\n%s", form.name, c.Src, form.want, got)
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d differ", bad, len(cases))
	}
}
