package bindings

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// wrapped breaks a text at blanks; words that are too long are broken too.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		for twwidth.Width(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := cut(word, width)
			lines, word = append(lines, head), word[len(head):]
		}
		if line != "" && twwidth.Width(line)+1+twwidth.Width(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return append(lines, line)
}

// cut is the beginning of a text that is no wider than width.
func cut(text string, width int) string {
	for i, r := range text {
		if width -= twwidth.Width(string(r)); width < 0 {
			return text[:i]
		}
	}
	return text
}
