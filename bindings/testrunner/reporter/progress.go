package reporter

import (
	"fmt"
	"io"
	"sync"
	"time"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// Progress shows on a terminal which test runs, in one line that is written again
// every second. Several goroutines may call it.
type Progress struct {
	To  io.Writer
	Now func() time.Time

	mu    sync.Mutex
	said  time.Time
	shown bool
}

// Doing is testrunner.Options.OnTest.
func (p *Progress) Doing(file, test string, faults int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	if p.said.IsZero() {
		p.said = now
	}
	if now.Sub(p.said) < time.Second {
		return
	}
	p.said, p.shown = now, true
	text := file + ": " + test
	if faults > 0 {
		text += fmt.Sprintf(", fault %d", faults)
	}
	_, _ = io.WriteString(p.To, script.ClearLine+cut(plaintext.VisibleLine(text)))
}

// Clear leaves the line empty for what is written next.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = io.WriteString(p.To, script.ClearLine)
		p.shown = false
	}
}

// lineWidth is what fits a terminal without wrapping.
const lineWidth = 79

func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= lineWidth {
		return text
	}
	return "…" + string(runes[len(runes)-lineWidth+1:])
}
