package display

import (
	"math"
	"strings"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// How often a long wait says how far it is.
const (
	progressOnTerminal = time.Second
	progressElsewhere  = time.Minute
	progressWidth      = 79 // of the rewritten line; a full one would wrap
)

// Progress shows how far a long wait is: on a terminal in one line that is
// written again and again, elsewhere in lines of the error stream. A nil
// progress is silent. It keeps the shell's time.
type Progress struct {
	s      *Display
	Every  time.Duration
	began  time.Time
	said   time.Time
	onLine bool // the terminal's line holds something
}

// Amount is how much work was done since the wait began, and how much is left.
type Amount struct {
	Done, Left float64              // left is NaN where nobody can tell
	Text       func(float64) string // of either
	// ToGo says in words how much longer it takes, where more is known than the rate;
	// empty otherwise. Unforeseen says that it is not known yet, and that the rate is not
	// to be used either.
	ToGo       string
	Unforeseen bool
}

// Progress starts to tell how far a wait is; nil, which is silent, unless wanted.
func (s *Display) Progress(wanted bool) *Progress {
	if !wanted {
		return nil
	}
	every := progressElsewhere
	if s.cfg.Terminal {
		every = progressOnTerminal
	}
	now := s.JS.Clock.Now()
	return &Progress{s: s, Every: every, began: now, said: now}
}

// Due reports whether something should be said now.
func (p *Progress) Due() bool {
	return p != nil && p.s.JS.Clock.Now().Sub(p.said) >= p.Every
}

// Restart forgets the rate so far: other work has begun.
func (p *Progress) Restart() {
	if p != nil {
		p.began = p.s.JS.Clock.Now()
	}
}

// Say writes what is going on, and what can be told from an amount.
func (p *Progress) Say(what string, a *Amount) {
	now := p.s.JS.Clock.Now()
	p.said = now
	measured := ""
	if a != nil {
		measured = ": " + p.Measure(a, now)
	}
	if !p.s.cfg.Terminal {
		p.s.JS.Out.Warn(what + measured)
		return
	}
	what = Clip(what, max(10, progressWidth-len(measured)))
	p.s.JS.Out.WriteOwn(script.ClearLine + Clip(what+measured, progressWidth))
	p.onLine = true
}

// Measure adds rate and time to go, once there is a rate or somebody who knows.
func (p *Progress) Measure(a *Amount, now time.Time) string {
	parts := []string{a.Text(a.Done) + " done"}
	if a.Left == a.Left {
		parts = append(parts, a.Text(a.Left)+" left")
	}
	if elapsed := now.Sub(p.began); a.Done > 0 && elapsed > 0 {
		rate := a.Done / elapsed.Seconds()
		parts = append(parts, rateText(rate, a.Text))
		if a.Left > 0 && a.ToGo == "" && !a.Unforeseen {
			parts = append(parts, humanize.Duration(time.Duration(a.Left/rate*float64(time.Second)))+" to go")
		}
	}
	if a.ToGo != "" {
		parts = append(parts, a.ToGo)
	}
	return strings.Join(parts, ", ")
}

// rateText returns an amount a second, or a minute when that is less than one.
func rateText(rate float64, text func(float64) string) string {
	unit := "/s"
	if rate < 1 {
		rate, unit = rate*60, "/min"
	}
	return text(math.Round(rate*10)/10) + unit // more of it is chance
}

// End leaves the terminal's line empty.
func (p *Progress) End() {
	if p != nil && p.onLine {
		p.s.JS.Out.WriteOwn(script.ClearLine)
		p.onLine = false
	}
}

// ChunksText returns a number of chunks in words.
func ChunksText(n float64) string {
	if n == 1 {
		return "1 chunk"
	}
	return plaintext.PlainNumber(math.Round(n*10)/10) + " chunks"
}
