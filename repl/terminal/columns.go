package terminal

import "strings"

// minGap is the minimum distance between two columns of names.
const minGap = 2

// layoutCompletions returns the completions in the form in which liner lists them well: rows of names,
// in columns of different widths. All columns of liner are as wide as the longest name, so that many
// terminals have room for only one. liner also treats listed rows as completions, and inserts their
// common prefix. Therefore rows are only used for names with no common prefix beyond the typed text.
func layoutCompletions(names []string, typed string, width int) []string {
	if len(names) < 2 || commonPrefix(names) != typed || maxWidth(inColumns(names, len(names), true)) < width {
		return names // liner lists them on one line
	}
	for columns := min(len(names), width/minGap); columns > 1; columns-- {
		for _, across := range []bool{false, true} {
			rows := inColumns(names, columns, across)
			if len(rows) > 1 && commonPrefix(rows) == typed && maxWidth(rows) < width-1 {
				return padRows(rows, width/2)
			}
		}
	}
	return names
}

// inColumns arranges names in columns: downwards, or across.
func inColumns(names []string, columns int, across bool) []string {
	height := (len(names) + columns - 1) / columns
	at := func(row, column int) string {
		i := column*height + row
		if across {
			i = row*columns + column
		}
		if i >= len(names) {
			return ""
		}
		return names[i]
	}
	widths := make([]int, columns)
	for column := range columns {
		for row := range height {
			widths[column] = max(widths[column], len([]rune(at(row, column))))
		}
	}
	rows := make([]string, height)
	for row := range rows {
		var b strings.Builder
		for column, width := range widths {
			name := at(row, column)
			b.WriteString(name + strings.Repeat(" ", width-len([]rune(name))+minGap))
		}
		rows[row] = strings.TrimRight(b.String(), " ")
	}
	return rows
}

// padRows pads rows so that liner can't put two of them side by side.
func padRows(rows []string, width int) []string {
	for i, row := range rows {
		rows[i] = row + strings.Repeat(" ", max(0, width-len(row)))
	}
	return rows
}

func maxWidth(rows []string) int {
	n := 0
	for _, row := range rows {
		n = max(n, len(row))
	}
	return n
}

func commonPrefix(names []string) string {
	prefix := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}
