package agent

import (
	"bytes"
	"io"
	"sync/atomic"
)

// lines is an input whose lines may have most bytes. It ends at a longer one.
type lines struct {
	io.ReadCloser
	most, length int
	over         atomic.Bool
}

// Read reads on unless a line is too long.
func (l *lines) Read(p []byte) (int, error) {
	if l.over.Load() {
		return 0, io.EOF
	}
	n, err := l.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		l.length += len(line)
		if l.length > l.most {
			l.over.Store(true)
			return 0, io.EOF
		}
		if ended {
			l.length = 0
		}
		rest = more
	}
	return n, err
}

// tooLong reports whether the input ended at a line that is too long.
func (l *lines) tooLong() bool { return l.over.Load() }
