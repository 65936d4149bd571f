package script

import (
	"io"
	"strings"
)

// Write writes to standard output.
func (s *Engine) Write(text string) {
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

// WriteError writes to the error stream.
func (s *Engine) WriteError(text string) { s.writeTo(s.cfg.Stderr, text) }
