package agent

import (
	"io"
	"strings"
	"testing"
)

// A line that is too long ends the input; the lines before it arrive, also with the same read.
func TestLinesBeforeOneTooLong(t *testing.T) {
	for input, want := range map[string]string{
		"a\nbc\n1234567":   "a\nbc\n",
		"a\n1234567\nb\n":  "a\n",
		"1234567":          "",
		"a\n123456\nb":     "a\n123456\nb",
		"\n\n1234567\na\n": "\n\n",
	} {
		lines := &limitedLines{ReadCloser: io.NopCloser(strings.NewReader(input)), maxLength: 6}
		got, err := io.ReadAll(lines)
		if err != nil || string(got) != want || lines.tooLong() != (want != input) {
			t.Errorf("%q: got %q, too long %v, %v", input, got, lines.tooLong(), err)
		}
	}
}
