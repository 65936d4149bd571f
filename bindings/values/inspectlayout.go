package values

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/dop251/goja"
	"golang.org/x/text/width"
)

// layout joins the entries: on one line if the nesting and the width allow it, in columns for long
// arrays, otherwise one on each line (rules/04-values-and-language §3.2, rules 7–10).
func (in *inspector) layout(output []string, s entryLayout, level int, o *goja.Object) string {
	if in.o.Compact == CompactFull {
		return in.layoutFull(output, s)
	}
	prefix := ""
	if s.base != "" {
		prefix = s.base + " "
	}
	if in.o.Compact > 0 {
		entries := len(output)
		if s.array && entries > 6 {
			output = in.group(output, o)
		}
		if in.lastDepth-level < in.o.Compact && entries == len(output) {
			// As in Node, the colour codes of base count.
			start := len(output) + in.indent + utf16Length(s.opening) + utf16Length(s.base) + 10
			if in.fitsOnLine(output, start, s.base) {
				return prefix + s.opening + " " + strings.Join(output, ", ") + " " + s.closing
			}
		}
	}
	line := "\n" + strings.Repeat(" ", in.indent)
	return prefix + s.opening + line + "  " + strings.Join(output, ","+line+"  ") + line + s.closing
}

// layoutFull returns the layout of Compact: CompactFull.
func (in *inspector) layoutFull(output []string, s entryLayout) string {
	base := ""
	if s.base != "" {
		base = " " + s.base
	}
	if in.fitsFullCompact(output, s.base) {
		return s.opening + base + " " + strings.Join(output, ", ") + " " + s.closing
	}
	line := "\n" + strings.Repeat(" ", in.indent)
	start := " "
	if s.base != "" || len(s.opening) != 1 {
		start = base + line + "  "
	}
	return s.opening + start + strings.Join(output, ","+line+"  ") + " " + s.closing
}

func (in *inspector) fitsFullCompact(output []string, base string) bool {
	total := len(output)
	if total+len(output) > in.o.Width {
		return false
	}
	for _, entry := range output {
		total += in.utf16Length(entry)
	}
	return total <= in.o.Width && !strings.Contains(base, "\n")
}

func (in *inspector) fitsOnLine(output []string, start int, base string) bool {
	total := len(output) + start
	for _, entry := range output {
		if strings.Contains(entry, "\n") {
			return false
		}
		total += in.utf16Length(entry)
		if total > in.o.Width {
			return false
		}
	}
	return total <= in.o.Width && !strings.Contains(base, "\n")
}

// group arranges the entries of an array in columns. It returns them unchanged if columns are not
// suitable.
func (in *inspector) group(output []string, o *goja.Object) []string {
	n := len(output)
	if len(output) > in.maxItems() {
		n-- // the "more items" entry has its own row
	}
	const separator = 2 // ", "
	lengths := make([]int, n)
	total, longest := 0, 0
	for i, entry := range output[:n] {
		lengths[i] = in.displayWidth(entry)
		total += lengths[i] + separator
		longest = max(longest, lengths[i])
	}
	cell := longest + separator
	if cell*3+in.indent >= in.o.Width || !(float64(total)/float64(cell) > 5 || longest <= 6) {
		return output
	}
	bias := math.Sqrt(float64(cell) - float64(total)/float64(len(output)))
	biased := math.Max(float64(cell)-3-bias, 1)
	columns := min(
		int(math.Floor(math.Sqrt(2.5*biased*float64(n))/biased+0.5)),
		(in.o.Width-in.indent)/cell,
		in.o.Compact*4,
		15,
	)
	if columns <= 1 {
		return output
	}
	widths := make([]int, columns)
	for i, length := range lengths {
		widths[i%columns] = max(widths[i%columns], length+separator)
	}
	padLeft := in.allNumbers(o, len(output))
	var rows []string
	for i := 0; i < n; i += columns {
		rows = append(rows, in.row(output[i:min(i+columns, n)], lengths[i:], widths, padLeft))
	}
	return append(rows, output[n:]...)
}

// row joins the cells of one row; the last one is padded only on the left.
func (in *inspector) row(cells []string, lengths, widths []int, padLeft bool) string {
	var b strings.Builder
	for i, cell := range cells {
		last := i == len(cells)-1
		switch {
		case padLeft && last:
			b.WriteString(strings.Repeat(" ", max(widths[i]-2-lengths[i], 0)) + cell)
		case padLeft:
			b.WriteString(strings.Repeat(" ", max(widths[i]-2-lengths[i], 0)) + cell + ", ")
		case last:
			b.WriteString(cell)
		default:
			b.WriteString(cell + ", " + strings.Repeat(" ", max(widths[i]-2-lengths[i], 0)))
		}
	}
	return b.String()
}

// allNumbers reports whether the first n items are numbers or BigInts.
func (in *inspector) allNumbers(o *goja.Object, n int) bool {
	for i := range n {
		v := o.Get(strconv.Itoa(i))
		if !goja.IsNumber(v) && !goja.IsBigInt(v) {
			return false
		}
	}
	return true
}

// utf16Length returns the number of UTF-16 units without colour codes.
func (in *inspector) utf16Length(s string) int {
	if in.o.Color {
		s = stripColor(s)
	}
	return utf16Length(s)
}

// displayWidth returns the display width of s, which the columns of an array are based on.
func (in *inspector) displayWidth(s string) int {
	if in.o.Color {
		s = stripColor(s)
	}
	n := 0
	for _, r := range s {
		switch {
		case r < 0x7F && r >= 0x20:
			n++
		case r != 0xAD && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Me, unicode.Mn):
		case width.LookupRune(r).Kind() == width.EastAsianWide || width.LookupRune(r).Kind() == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
