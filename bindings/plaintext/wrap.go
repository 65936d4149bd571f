package plaintext

import (
	"iter"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Wrap breaks a text at spaces; it also breaks words that are too long.
func Wrap(text string, width int) []string {
	var words []string
	for word := range strings.FieldsSeq(text) {
		for twwidth.Width(word) > width {
			head := Truncate(word, width)
			words, word = append(words, head), word[len(head):]
		}
		words = append(words, word)
	}
	return wrapWords(slices.Values(words), width)
}

// WrapAtSpaces breaks a text only at spaces; a word that is too long gets its own line.
func WrapAtSpaces(text string, width int) []string { return wrapWords(strings.FieldsSeq(text), width) }

func wrapWords(words iter.Seq[string], width int) (lines []string) {
	line := ""
	for word := range words {
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
