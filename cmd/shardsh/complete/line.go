package complete

import (
	"fmt"
	"io"
	"strings"
)

// Split splits an incomplete line of a shell into words. It removes quotes and backslashes. A line that
// ends with a space has an empty last word. The name of the program is left out.
func Split(line string) []string {
	var words []string
	var word strings.Builder
	quote, escaped, inWord := rune(0), false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	words = append(words, word.String())
	return words[1:]
}

// Write writes an answer for the completion scripts: a line with the kind of file names and their
// suffixes, then each word with its description after a tab.
func (a Completions) Write(to io.Writer) error {
	if _, err := fmt.Fprintln(to, strings.Join(append([]string{string(a.Files)}, a.Suffixes...), " ")); err != nil {
		return err
	}
	for _, w := range a.Words {
		if _, err := fmt.Fprintf(to, "%s\t%s\n", w.Text, w.About); err != nil {
			return err
		}
	}
	return nil
}
