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
	onClosed       func(error) // is called when nobody reads standard output any more
	warned         map[string]bool
	midLine        atomic.Bool // what was written last has no line end
}

// Write writes text of the shell to standard output. Control characters in names and
// values of a cluster are escaped.
func (o *Output) Write(text string) { o.WriteRaw(plaintext.Visible(text)) }

// WriteRaw writes a script's own text to standard output as it is, escape
// sequences too, or what Paint and Inspect return.
func (o *Output) WriteRaw(text string) {
	o.writeTo(o.stdout, text)
	if text != "" {
		o.midLine.Store(!strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, ClearLine))
	}
}

// IsMidLine reports whether the output stands within a line, as it does while a
// wait shows how far it is. It may be asked while a command runs.
func (o *Output) IsMidLine() bool { return o.midLine.Load() }

// writeTo writes a text. A reader of standard output that went away ends the script.
func (o *Output) writeTo(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil && w == o.stdout {
		o.onClosed(err)
	}
}

// ClearLine empties the terminal's line and goes to its beginning.
const ClearLine = "\r\x1b[K"

// WriteRawError writes a script's own text to the error stream as it is.
func (o *Output) WriteRawError(text string) { o.writeTo(o.stderr, text) }

// Warn writes a line to the error stream.
func (o *Output) Warn(text string) {
	o.writeTo(o.stderr, plaintext.Visible(strings.TrimRight(text, "\n")+"\n"))
}

// WarnOnce writes a line the first time it is asked to in this run.
func (o *Output) WarnOnce(text string) {
	if !o.warned[text] {
		o.warned[text] = true
		o.Warn(text)
	}
}

// Deprecate prints a deprecation warning once.
func (o *Output) Deprecate(text string) {
	o.WarnOnce("DeprecationWarning: " + text)
}
