package display

import (
	"math"
	"strings"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// The intervals at which a long wait shows its progress, and the width of the line on a terminal.
const (
	terminalInterval = time.Second
	logInterval      = time.Minute
	progressWidth    = 79 // of the rewritten line; a full line would wrap
)

// Progress shows the progress of a long wait: on a terminal in one line that is rewritten, otherwise in
// lines of the error stream. A nil Progress shows nothing. It uses the shell's clock.
type Progress struct {
	display   *Display
	Interval  time.Duration
	startedAt time.Time
	shownAt   time.Time
	lineShown bool // the terminal's line is not empty
}

// Amount is the work that was done since the wait began, and the remaining work.
type Amount struct {
	Done, Remaining float64              // Remaining is NaN if it is unknown
	Format          func(float64) string // formats Done and Remaining
	// RemainingTimeText is the remaining time in words, if there is a better estimate than the rate; empty
	// otherwise. RemainingTimeUnknown says that the remaining time is unknown, and must not be estimated
	// from the rate either.
	RemainingTimeText    string
	RemainingTimeUnknown bool
}

// NewProgress returns a Progress for a wait that begins now; nil, which shows nothing, unless wanted.
func (d *Display) NewProgress(wanted bool) *Progress {
	if !wanted {
		return nil
	}
	every := logInterval
	if d.cfg.Terminal {
		every = terminalInterval
	}
	now := d.JS.Clock.Now()
	return &Progress{display: d, Interval: every, startedAt: now, shownAt: now}
}

// IsDue reports whether the progress should be shown now.
func (p *Progress) IsDue() bool {
	return p != nil && p.display.JS.Clock.Now().Sub(p.shownAt) >= p.Interval
}

// Restart resets the rate, because different work begins.
func (p *Progress) Restart() {
	if p != nil {
		p.startedAt = p.display.JS.Clock.Now()
	}
}

// Show shows an activity with its amount, rate and remaining time.
func (p *Progress) Show(what string, a *Amount) {
	now := p.display.JS.Clock.Now()
	p.shownAt = now
	measured := ""
	if a != nil {
		measured = ": " + p.AmountText(a, now)
	}
	if !p.display.cfg.Terminal {
		p.display.JS.Out.Warn(what + measured)
		return
	}
	what = Clip(what, max(10, progressWidth-len(measured)))
	p.display.JS.Out.WriteRaw(script.ClearLine + Clip(what+measured, progressWidth))
	p.lineShown = true
}

// AmountText returns the amount with its rate and remaining time, if they are known.
func (p *Progress) AmountText(a *Amount, now time.Time) string {
	parts := []string{a.Format(a.Done) + " done"}
	if a.Remaining == a.Remaining {
		parts = append(parts, a.Format(a.Remaining)+" left")
	}
	if elapsed := now.Sub(p.startedAt); a.Done > 0 && elapsed > 0 {
		rate := a.Done / elapsed.Seconds()
		parts = append(parts, rateText(rate, a.Format))
		if a.Remaining > 0 && a.RemainingTimeText == "" && !a.RemainingTimeUnknown {
			parts = append(parts, humanize.Duration(time.Duration(a.Remaining/rate*float64(time.Second)))+" to go")
		}
	}
	if a.RemainingTimeText != "" {
		parts = append(parts, a.RemainingTimeText)
	}
	return strings.Join(parts, ", ")
}

// rateText returns an amount a second, or a minute if the amount is less than one a second.
func rateText(rate float64, text func(float64) string) string {
	unit := "/s"
	if rate < 1 {
		rate, unit = rate*60, "/min"
	}
	return text(math.Round(rate*10)/10) + unit // further digits are noise
}

// End clears the terminal's line.
func (p *Progress) End() {
	if p != nil && p.lineShown {
		p.display.JS.Out.WriteRaw(script.ClearLine)
		p.lineShown = false
	}
}

// ChunksText returns a number of chunks in words.
func ChunksText(n float64) string {
	if n == 1 {
		return "1 chunk"
	}
	return plaintext.JSNumber(math.Round(n*10)/10) + " chunks"
}
