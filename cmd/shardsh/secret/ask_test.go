package secret

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// What is typed, what is read, and what is shown of it (rules/04-command-line-and-prompt §1.10).
func TestReadSecret(t *testing.T) {
	tests := []struct {
		name, typed  string
		secret, echo string
		err          error
	}{
		{"a line", "abc\rrest", "abc", "***", nil},
		{"a line of a pipe", "abc\nrest", "abc", "***", nil},
		{"characters of several bytes", "pä€\r", "pä€", "***", nil},
		{"backspace", "ab\x7f\x08c\r", "c", "**\b \b\b \b*", nil},
		{"backspace takes a whole character", "ä\x7fb\r", "b", "*\b \b*", nil},
		{"backspace on nothing", "\x7fa\r", "a", "*", nil},
		{"Ctrl-U", "ab\x15c\r", "c", "**\b \b\b \b*", nil},
		{"an empty line", "\r", "", "", nil},
		{"the last line need not end", "abc", "abc", "***", nil},
		{"the end of input", "", "", "", io.EOF},
		{"Ctrl-D", "\x04", "", "", io.EOF},
		{"Ctrl-D after something is nothing", "a\x04b\r", "ab", "**", nil},
		{"Ctrl-C", "ab\x03", "", "**", ErrInterrupted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var echo bytes.Buffer
			got, err := readSecret(strings.NewReader(tt.typed), &echo)
			if got != tt.secret || echo.String() != tt.echo {
				t.Errorf("read %q, shown %q; want %q, %q", got, echo.String(), tt.secret, tt.echo)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
		})
	}
}

// A line is read, and nothing behind it.
func TestReadSecretLeavesTheRest(t *testing.T) {
	in := strings.NewReader("secret\nuse app\n")
	if _, err := readSecret(in, io.Discard); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "use app\n" {
		t.Errorf("left %q", rest)
	}
}
