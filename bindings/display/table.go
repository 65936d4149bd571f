package display

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// DefaultWidth is the width of tables without a terminal, and LabelWidth that of the column of labels. MaxRows is about
// a screen.
const (
	DefaultWidth = 80
	MaxRows      = 20
	LabelWidth   = 16
)

// Tables collects the headings, lines and grids that a terminal shows in place of a value. None is
// wider than the screen.
type Tables struct {
	display *Display
	b       strings.Builder
}

// WithTable returns a value that a REPL on a terminal shows as tables. Scripts use the value, and print
// it like any other value.
func (d *Display) WithTable(o *goja.Object, draw func(*Tables)) *goja.Object {
	if !d.ShowsTables() {
		return o
	}
	v := d.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
		t := &Tables{display: d}
		draw(t)
		return d.JS.Runtime.ToValue(strings.TrimRight(t.b.String(), "\n"))
	})
	script.Must(o.DefineDataPropertySymbol(d.ensureTableSymbol(), v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	return o
}

// ShowsTables reports whether results with tables are shown as tables.
func (d *Display) ShowsTables() bool { return d.cfg.Interactive && d.cfg.Terminal }

func (d *Display) ensureTableSymbol() *goja.Symbol {
	if d.tableSymbol == nil {
		d.tableSymbol = goja.NewSymbol("shardsh.table")
	}
	return d.tableSymbol
}

// renderTables renders a value with tables.
func (d *Display) renderTables(v goja.Value) (string, bool) {
	o, ok := v.(*goja.Object)
	if !ok || d.tableSymbol == nil {
		return "", false
	}
	draw, ok := goja.AssertFunction(o.GetSymbol(d.tableSymbol))
	if !ok {
		return "", false
	}
	text, err := draw(goja.Undefined())
	d.JS.Check(err)
	return text.String(), true
}

// TablesResult returns the result of a show command as tables.
func (d *Display) TablesResult(draw func(*Tables)) goja.Value {
	t := &Tables{display: d}
	draw(t)
	return d.JS.StyledResult(t.b.String())
}

// WriteHeading writes a heading.
func (t *Tables) WriteHeading(text string) {
	if t.b.Len() > 0 {
		t.b.WriteString("\n")
	}
	t.b.WriteString(t.display.JS.Out.Paint(script.HeadingColor, Clip(text, t.display.Columns())) + "\n")
}

// WriteLine writes a label and its wrapped text.
func (t *Tables) WriteLine(label, text string) {
	indent := strings.Repeat(" ", LabelWidth)
	label = plaintext.EscapeLine(label)
	for i, part := range plaintext.Wrap(plaintext.EscapeText(text), t.display.Columns()-LabelWidth-1) {
		head := indent
		if i == 0 {
			head = "  " + label + strings.Repeat(" ", max(1, LabelWidth-2-twwidth.Width(label)))
		}
		t.b.WriteString(head + part + "\n")
	}
}

// WriteGrid writes a table. Columns whose name ends in "#" hold numbers and are right-aligned.
func (t *Tables) WriteGrid(header []string, rows [][]string) {
	rows = visibleRows(rows)
	header = slices.Clone(header)
	align := make([]tw.Align, len(header))
	for i, name := range header {
		align[i] = tw.AlignLeft
		if numeric, ok := strings.CutSuffix(name, "#"); ok {
			header[i], align[i] = numeric, tw.AlignRight
		}
	}
	shrinkColumns(append([][]string{header}, rows...), t.display.Columns()-2)
	for i, line := range strings.Split(strings.TrimSuffix(drawGrid(header, rows, align), "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		if i == 0 {
			line = t.display.JS.Out.Paint(script.NameColor, line)
		}
		t.b.WriteString("  " + line + "\n")
	}
}

// WriteTopRows writes a grid with a screen of rows, but at least minRows. It counts the other rows, and
// says in othersHint where they are shown.
func (t *Tables) WriteTopRows(header []string, rows [][]string, minRows int, othersHint string) {
	hidden := max(0, len(rows)-max(minRows, MaxRows))
	t.WriteGrid(header, rows[:len(rows)-hidden])
	if hidden > 0 {
		t.WriteNote(fmt.Sprintf("… and %d more: %s", hidden, othersHint))
	}
}

// WriteNote writes a line of text below a table.
func (t *Tables) WriteNote(text string) {
	for _, part := range plaintext.Wrap(plaintext.EscapeText(text), t.display.Columns()-2) {
		t.b.WriteString("  " + part + "\n")
	}
}

// visibleRows escapes the cells of rows for a single line.
func visibleRows(rows [][]string) [][]string {
	shown := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			shown[i] = append(shown[i], plaintext.EscapeLine(cell))
		}
	}
	return shown
}

// shrinkColumns narrows the widest columns until all columns and the gaps between them fit the width.
func shrinkColumns(rows [][]string, width int) {
	const gap, least = 2, 6
	columns := len(rows[0])
	widths := make([]int, columns)
	total := gap * (columns - 1)
	for i := range columns {
		for _, row := range rows {
			widths[i] = max(widths[i], twwidth.Width(row[i]))
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= least {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i := range row {
			row[i] = Clip(row[i], widths[i])
		}
	}
}

// Clip escapes a text for a single line, and marks where it was truncated because it is too wide.
func Clip(text string, width int) string {
	text = plaintext.EscapeLine(text)
	if twwidth.Width(text) <= width {
		return text
	}
	return plaintext.Truncate(text, width-1) + "…"
}

// drawGrid draws rows without borders.
func drawGrid(header []string, rows [][]string, align []tw.Align) string {
	var b strings.Builder
	none := tw.Padding{Left: "", Right: "  "}
	table := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.SeparatorsNone, Lines: tw.LinesNone,
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithTrimSpace(tw.Off), tablewriter.WithPadding(none),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone))
	table.Header(header)
	for _, row := range rows {
		if err := table.Append(row); err != nil {
			return err.Error()
		}
	}
	if err := table.Render(); err != nil {
		return err.Error()
	}
	return b.String()
}
