package reporter

import (
	"fmt"
	"io"
	"sync"
	"time"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// Progress shows on a terminal which test runs, in one line that is rewritten every second. It is safe
// for concurrent use.
type Progress struct {
	To  io.Writer
	Now func() time.Time

	mu        sync.Mutex
	shownAt   time.Time
	lineShown bool
}

// OnTest implements testrunner.Options.OnTest.
func (p *Progress) OnTest(file, test string, faults int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	if p.shownAt.IsZero() {
		p.shownAt = now
	}
	if now.Sub(p.shownAt) < time.Second {
		return
	}
	p.shownAt, p.lineShown = now, true
	text := file + ": " + test
	if faults > 0 {
		text += fmt.Sprintf(", fault %d", faults)
	}
	_, _ = io.WriteString(p.To, script.ClearLine+truncateLeft(plaintext.EscapeLine(text)))
}

// Clear clears the line before other output.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lineShown {
		_, _ = io.WriteString(p.To, script.ClearLine)
		p.lineShown = false
	}
}

// lineWidth is the maximum width of the line, which must not wrap.
const lineWidth = 79

func truncateLeft(text string) string {
	runes := []rune(text)
	if len(runes) <= lineWidth {
		return text
	}
	return "…" + string(runes[len(runes)-lineWidth+1:])
}
