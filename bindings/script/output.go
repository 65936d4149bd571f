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
	closed         func(error) // is called when nobody reads standard output any more
	warned         map[string]bool
	midLine        atomic.Bool // what was written last has no line end
}

// Write writes what the shell says to standard output. What a cluster's names and
// values have in them that terminals obey is escaped.
func (o *Output) Write(text string) { o.WriteOwn(plaintext.Visible(text)) }

// WriteOwn writes a script's own text to standard output as it is, escape
// sequences too, or what Paint and Inspect return.
func (o *Output) WriteOwn(text string) {
	o.writeTo(o.stdout, text)
	if text != "" {
		o.midLine.Store(!strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, ClearLine))
	}
}

// MidLine reports whether the output stands within a line, as it does while a
// wait shows how far it is. It may be asked while a command runs.
func (o *Output) MidLine() bool { return o.midLine.Load() }

// writeTo writes a text. A reader of standard output that went away ends the script.
func (o *Output) writeTo(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil && w == o.stdout {
		o.closed(err)
	}
}

// ClearLine empties the terminal's line and goes to its beginning.
const ClearLine = "\r\x1b[K"

// WriteOwnError writes a script's own text to the error stream as it is.
func (o *Output) WriteOwnError(text string) { o.writeTo(o.stderr, text) }

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

// Deprecate warns, once, of something that will go.
func (o *Output) Deprecate(text string) {
	o.WarnOnce("DeprecationWarning: " + text)
}
