package bindings

import (
	"fmt"
	"math"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"strings"
	"time"
)

// How often a long wait says how far it is.
const (
	progressOnTerminal = time.Second
	progressElsewhere  = time.Minute
	progressWidth      = 79 // of the rewritten line; a full one would wrap
)

// progress tells how far a long wait is: on a terminal in one line that is
// written again and again, elsewhere in lines of the error stream. A nil
// progress is silent. It keeps the shell's time.
type progress struct {
	s      *Shell
	every  time.Duration
	began  time.Time
	said   time.Time
	onLine bool // the terminal's line holds something
}

// amount is how much work was done since the wait began, and how much is left.
type amount struct {
	done, left float64              // left is NaN where nobody can tell
	text       func(float64) string // of either
}

func (s *Shell) newProgress(wanted bool) *progress {
	if !wanted {
		return nil
	}
	every := progressElsewhere
	if s.cfg.Terminal {
		every = progressOnTerminal
	}
	now := s.JS.Clock.Now()
	return &progress{s: s, every: every, began: now, said: now}
}

// due reports whether something should be said now.
func (p *progress) due() bool {
	return p != nil && p.s.JS.Clock.Now().Sub(p.said) >= p.every
}

// restart forgets the rate so far: other work has begun.
func (p *progress) restart() {
	if p != nil {
		p.began = p.s.JS.Clock.Now()
	}
}

// say writes what is going on, and what can be told from an amount.
func (p *progress) say(what string, a *amount) {
	now := p.s.JS.Clock.Now()
	p.said = now
	measured := ""
	if a != nil {
		measured = ": " + p.measure(a, now)
	}
	if !p.s.cfg.Terminal {
		p.s.JS.Warn(what + measured)
		return
	}
	what = clip(what, max(10, progressWidth-len(measured)))
	p.s.JS.Write(script.ClearLine + clip(what+measured, progressWidth))
	p.onLine = true
}

// measure adds rate and time to go, once there is a rate.
func (p *progress) measure(a *amount, now time.Time) string {
	parts := []string{a.text(a.done) + " done"}
	if a.left == a.left {
		parts = append(parts, a.text(a.left)+" left")
	}
	if elapsed := now.Sub(p.began); a.done > 0 && elapsed > 0 {
		rate := a.done / elapsed.Seconds()
		parts = append(parts, rateText(rate, a.text))
		if a.left > 0 {
			parts = append(parts, durationText(time.Duration(a.left/rate*float64(time.Second)))+" to go")
		}
	}
	return strings.Join(parts, ", ")
}

// rateText is an amount a second, or a minute when that is less than one.
func rateText(rate float64, text func(float64) string) string {
	if rate < 1 {
		return text(rate*60) + "/min"
	}
	return text(rate) + "/s"
}

// durationText is a time in its two largest units.
func durationText(d time.Duration) string {
	switch {
	case d < time.Second:
		return "1s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// end leaves the terminal's line empty.
func (p *progress) end() {
	if p != nil && p.onLine {
		p.s.JS.Write(script.ClearLine)
		p.onLine = false
	}
}

func chunksText(n float64) string {
	if n == 1 {
		return "1 chunk"
	}
	return plaintext.PlainNumber(math.Round(n*10)/10) + " chunks"
}
