package plaintext

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Wrap breaks a text at spaces; it also breaks words that are too long.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		for twwidth.Width(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := Truncate(word, width)
			lines, word = append(lines, head), word[len(head):]
		}
		if line != "" && twwidth.Width(line)+1+twwidth.Width(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return append(lines, line)
}

// Truncate returns the longest beginning of a text that is no wider than width.
func Truncate(text string, width int) string {
	for i, r := range text {
		if width -= twwidth.Width(string(r)); width < 0 {
			return text[:i]
		}
	}
	return text
}
