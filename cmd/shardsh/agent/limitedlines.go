package agent

import (
	"bytes"
	"io"
	"sync/atomic"
)

// limitedLines is a reader with a maximum line length. A longer line ends the input, after the lines before it.
type limitedLines struct {
	io.ReadCloser
	maxLength, length int
	exceeded          atomic.Bool
}

// Read reads from the underlying reader until a line is too long.
func (l *limitedLines) Read(p []byte) (int, error) {
	if l.exceeded.Load() {
		return 0, io.EOF
	}
	n, err := l.ReadCloser.Read(p)
	complete := 0 // length of the complete lines
	for rest := p[:n]; len(rest) > 0; {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		l.length += len(line)
		if l.length > l.maxLength {
			l.exceeded.Store(true)
			return complete, io.EOF
		}
		if ended {
			l.length, complete = 0, n-len(more)
		}
		rest = more
	}
	return n, err
}

// tooLong reports whether the input ended because a line was too long.
func (l *limitedLines) tooLong() bool { return l.exceeded.Load() }
