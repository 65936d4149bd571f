package display

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"shardsh/bindings/script"
)

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// TestTablesFitTheTerminal: whatever cells hold, no line is wider than 80
// columns, colours or not.
func TestTablesFitTheTerminal(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, color := range []bool{false, true} {
		s := New(Options{Color: color})
		s.JS = script.NewEngine(script.Options{Color: color})
		for _, rows := range [][][]string{
			{{"a", "1", "b"}},
			{{long, "1", long}, {"", "22", "b"}},
			{{"日本語日本語日本語日本語日本語日本語日本語日本語", "1", long}},
		} {
			tb := &Tables{display: s}
			tb.WriteHeading(long + long)
			tb.WriteLine("label", long+" "+long+long)
			tb.WriteGrid([]string{"first", "number#", "a longer name"}, rows)
			tb.WriteNote(long + " " + long)
			for line := range strings.Lines(tb.b.String()) {
				plain := escapes.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
				if w := twwidth.Width(plain); w > DefaultWidth {
					t.Errorf("%d columns: %q", w, plain)
				}
				if strings.HasSuffix(plain, " ") {
					t.Errorf("blanks at the end of %q", plain)
				}
			}
		}
	}
}

func TestTablesShowAScreen(t *testing.T) {
	s := New(Options{})
	s.JS = script.NewEngine(script.Options{})
	var rows [][]string
	for i := range 25 {
		rows = append(rows, []string{strconv.Itoa(i), "x"})
	}
	tb := &Tables{display: s}
	tb.WriteTopRows([]string{"n#", "name"}, rows, 3, "elsewhere")
	want := "   n  name\n   0  x\n"
	if got := tb.b.String(); !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, "  19  x\n  … and 5 more: elsewhere\n") {
		t.Error(got)
	}
	tb = &Tables{display: s}
	tb.WriteGrid([]string{"n#", "name"}, rows)
	if got := tb.b.String(); strings.Count(got, "\n") != 26 {
		t.Error(got)
	}
	tb = &Tables{display: s}
	tb.WriteTopRows([]string{"n#", "name"}, rows, 24, "elsewhere")
	if got := tb.b.String(); !strings.HasSuffix(got, "  23  x\n  … and 1 more: elsewhere\n") {
		t.Error(got)
	}
}

// Primitives have a column of their own, as in Node, beside a field with the column's name.
func TestConsoleTableOfPrimitives(t *testing.T) {
	s := New(Options{Settings: func() InspectSettings { return InspectSettings{} }})
	s.JS = script.NewEngine(script.Options{})
	rows, err := s.JS.Runtime.RunString(`[{ Values: 1 }, 5]`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `
┌─────────┬────────┬────────┐
│ (index) │ Values │ Values │
├─────────┼────────┼────────┤
│ 0       │ 1      │        │
│ 1       │        │ 5      │
└─────────┴────────┴────────┘`
	if got := "\n" + s.ConsoleTable(rows); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}
