package script

import (
	"io"
	"strings"

	"shardsh/bindings/plaintext"
)

// Write writes what the shell says to standard output. What a cluster's names and
// values have in them that terminals obey is escaped.
func (s *Engine) Write(text string) { s.WriteOwn(plaintext.Visible(text)) }

// WriteOwn writes a script's own text to standard output as it is, escape
// sequences too, or what Paint and Inspect return.
func (s *Engine) WriteOwn(text string) {
	s.writeTo(s.cfg.Stdout, text)
	if text != "" {
		s.midLine.Store(!strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, ClearLine))
	}
}

// MidLine reports whether the output stands within a line, as it does while a
// wait shows how far it is. It may be asked while a command runs.
func (s *Engine) MidLine() bool { return s.midLine.Load() }

// writeTo writes a text. A reader that went away ends the script: there is
// nobody to tell.
func (s *Engine) writeTo(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil && w == s.cfg.Stdout {
		s.Abort(err)
	}
}

// ClearLine empties the terminal's line and goes to its beginning.
const ClearLine = "\r\x1b[K"

// WriteOwnError writes a script's own text to the error stream as it is.
func (s *Engine) WriteOwnError(text string) { s.writeTo(s.cfg.Stderr, text) }
