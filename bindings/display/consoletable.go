package display

import (
	"strings"

	"github.com/dop251/goja"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"

	"shardsh/bindings/plaintext"
)

// ConsoleTable draws rows of objects as console.table does.
func (d *Display) ConsoleTable(v goja.Value) string {
	rows, ok := v.(*goja.Object)
	if !ok {
		return d.PrintedText(v)
	}
	const index, single = "(index)", "Values"
	header := []string{index}
	seen := map[string]int{}
	var lines [][]string
	hasSingle := false
	column := func(name string) int {
		i, ok := seen[name]
		if !ok {
			i = len(header)
			seen[name] = i
			header = append(header, plaintext.EscapeLine(name))
		}
		return i
	}
	put := func(line []string, i int, text string) []string {
		for len(line) <= i {
			line = append(line, "")
		}
		line[i] = text
		return line
	}
	var singles []string
	for _, k := range rows.Keys() {
		line := []string{plaintext.EscapeLine(k)}
		single := ""
		if row, ok := rows.Get(k).(*goja.Object); ok {
			for _, name := range row.Keys() {
				line = put(line, column(name), d.Inspect(row.Get(name)))
			}
		} else {
			single, hasSingle = d.Inspect(rows.Get(k)), true
		}
		lines = append(lines, line)
		singles = append(singles, single)
	}
	if hasSingle {
		i := len(header) // apart from a field that is named Values, too
		header = append(header, single)
		for n := range lines {
			lines[n] = put(lines[n], i, singles[n])
		}
	}
	return drawTable(header, lines)
}

// drawTable draws a table as Node does. The text of cells is printed unchanged.
func drawTable(header []string, lines [][]string) string {
	var b strings.Builder
	table := tablewriter.NewTable(&b,
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone))
	table.Header(header)
	for _, line := range lines {
		for len(line) < len(header) {
			line = append(line, "")
		}
		if err := table.Append(line); err != nil {
			return err.Error()
		}
	}
	if err := table.Render(); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
