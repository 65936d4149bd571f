package script

import (
	"io"
	"strings"
	"sync/atomic"

	"shardsh/bindings/plaintext"
)

// Output is where a program writes: standard output and the error stream.
type Output struct {
	stdout, stderr io.Writer
	color          bool
	onClosed       func(error) // called when standard output has no reader any more
	warned         map[string]bool
	midLine        atomic.Bool // the last output did not end in a newline
}

// Write writes text of the shell to standard output. It escapes control characters, which may come from
// names and values of a cluster.
func (o *Output) Write(text string) { o.WriteRaw(plaintext.EscapeText(text)) }

// WriteRaw writes to standard output without escaping: a script's own text, or the result of Paint and
// Inspect.
func (o *Output) WriteRaw(text string) {
	o.writeTo(o.stdout, text)
	if text != "" {
		o.midLine.Store(!strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, ClearLine))
	}
}

// IsMidLine reports whether the last output did not end in a newline, for example while a wait shows
// its progress. It may be called while a command runs.
func (o *Output) IsMidLine() bool { return o.midLine.Load() }

// writeTo writes a text. If standard output was closed by its reader, the script ends.
func (o *Output) writeTo(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil && w == o.stdout {
		o.onClosed(err)
	}
}

// ClearLine clears the terminal's line and moves the cursor to its beginning.
const ClearLine = "\r\x1b[K"

// WriteRawError writes a script's own text to the error stream without escaping.
func (o *Output) WriteRawError(text string) { o.writeTo(o.stderr, text) }

// Warn writes a line to the error stream.
func (o *Output) Warn(text string) {
	o.writeTo(o.stderr, plaintext.EscapeText(strings.TrimRight(text, "\n")+"\n"))
}

// WarnOnce writes a line to the error stream on its first call with that text.
func (o *Output) WarnOnce(text string) {
	if !o.warned[text] {
		o.warned[text] = true
		o.Warn(text)
	}
}

// WarnDeprecated prints a deprecation warning once.
func (o *Output) WarnDeprecated(text string) {
	o.WarnOnce("DeprecationWarning: " + text)
}
