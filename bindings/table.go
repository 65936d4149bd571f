package bindings

import (
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// tableWidth is what tables fit in; maxTableRows is about a screen.
const (
	tableWidth   = 80
	maxTableRows = 20
	labelWidth   = 16
)

// tables collects what a terminal shows in place of a value: headings, lines and
// grids, none wider than tableWidth.
type tables struct {
	s *Shell
	b strings.Builder
}

// withTable gives a value that a REPL on a terminal shows as tables. Scripts see
// the value and print it as any other.
func (s *Shell) withTable(o *goja.Object, draw func(*tables)) *goja.Object {
	if !s.showsTables() {
		return o
	}
	v := s.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
		t := &tables{s: s}
		draw(t)
		return s.JS.Runtime.ToValue(strings.TrimRight(t.b.String(), "\n"))
	})
	script.Must(o.DefineDataPropertySymbol(s.tableMark(), v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	return o
}

// showsTables reports whether a result that has tables is shown as them.
func (s *Shell) showsTables() bool { return s.cfg.Interactive && s.cfg.Terminal }

func (s *Shell) tableMark() *goja.Symbol {
	if s.marks.table == nil {
		s.marks.table = goja.NewSymbol("shardsh.table")
	}
	return s.marks.table
}

// renderTables shows a value that has tables.
func (s *Shell) renderTables(v goja.Value) (string, bool) {
	o, ok := v.(*goja.Object)
	if !ok || s.marks.table == nil {
		return "", false
	}
	draw, ok := goja.AssertFunction(o.GetSymbol(s.marks.table))
	if !ok {
		return "", false
	}
	text, err := draw(goja.Undefined())
	if err != nil {
		s.JS.Rethrow(err)
	}
	return text.String(), true
}

// shownTables is the result of a show command on a terminal.
func (s *Shell) shownTables(draw func(*tables)) goja.Value {
	t := &tables{s: s}
	draw(t)
	return s.JS.ShownText(t.b.String())
}

func (t *tables) heading(text string) {
	if t.b.Len() > 0 {
		t.b.WriteString("\n")
	}
	t.b.WriteString(t.s.JS.Paint(script.HeadingColor, clip(text, tableWidth)) + "\n")
}

// line is a label and what it is about, on as many lines as it takes.
func (t *tables) line(label, text string) {
	indent := strings.Repeat(" ", labelWidth)
	for i, part := range plaintext.Wrapped(text, tableWidth-labelWidth-1) {
		head := indent
		if i == 0 {
			head = "  " + label + strings.Repeat(" ", max(1, labelWidth-2-twwidth.Width(label)))
		}
		t.b.WriteString(head + part + "\n")
	}
}

// grid is a table. Columns whose name ends in "#" hold numbers and are flush
// right. Rows beyond a screen are counted.
func (t *tables) grid(header []string, rows [][]string) {
	hidden := max(0, len(rows)-maxTableRows)
	rows = slices.Clone(rows[:len(rows)-hidden])
	header = slices.Clone(header)
	align := make([]tw.Align, len(header))
	for i, name := range header {
		align[i] = tw.AlignLeft
		if numeric, ok := strings.CutSuffix(name, "#"); ok {
			header[i], align[i] = numeric, tw.AlignRight
		}
	}
	fit(append([][]string{header}, rows...), tableWidth-2)
	for i, line := range strings.Split(strings.TrimSuffix(drawGrid(header, rows, align), "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		if i == 0 {
			line = t.s.JS.Paint(script.NameColor, line)
		}
		t.b.WriteString("  " + line + "\n")
	}
	if hidden > 0 {
		t.b.WriteString("  … and " + itoa(hidden) + " more\n")
	}
}

// fit cuts the widest columns until all columns and the gaps between them take no
// more than the width.
func fit(rows [][]string, width int) {
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
			row[i] = clip(row[i], widths[i])
		}
	}
}

// clip cuts a text that is too wide, and shows it.
func clip(text string, width int) string {
	if twwidth.Width(text) <= width {
		return text
	}
	return plaintext.Cut(text, width-1) + "…"
}

// drawGrid draws rows without lines around them.
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
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}), tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
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

// marks are on values that are shown in a way of their own; each made when it is
// first needed.
type marks struct {
	reply *goja.Symbol // on replies of commands
	table *goja.Symbol // on values with tables for terminals
}
