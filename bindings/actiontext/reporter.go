// Package actiontext shows what actions (balancer/action) report and return, as text
// for people, at the prompt and of subcommands, and balancing as lines of JSON.
package actiontext

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/forecast"
	"shardsh/balancer/humanize"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/bindings/display"
	"shardsh/bindings/findings"
)

// Reporter shows how far an action is. What it has no function for it leaves out.
type Reporter struct {
	// Progress is nil where it is not wanted.
	Progress *display.Progress
	// Spell writes the name of an option as the user enters it; nil leaves it as it is.
	Spell func(option string) string
	// Note writes a line of its own.
	Note func(text string)
	// Move writes a line for each thing that happens while the engine balances; nil
	// leaves it to Progress.
	Move func(text string)
	// Plan shows what is to be done, Load what is to be evened out; nil does not.
	Plan func(p *plan.Plan)
	Load func(l action.Load)
	// WouldSend shows a command that a dry run does not send; nil does not.
	WouldSend func(c action.WouldSend)

	gate    *pace.Gate
	planned *plan.Plan
}

// Report shows an event.
func (r *Reporter) Report(e action.Event) {
	switch e := e.(type) {
	case action.Planned:
		if r.planned = e.Plan; r.Plan != nil {
			r.Plan(e.Plan)
		} else if note := e.Plan.Note; note != "" {
			r.line(strings.ToUpper(note[:1]) + note[1:] + ".")
		}
	case action.Counted:
		if r.Load != nil {
			r.Load(e.Load)
		}
	case action.Started:
		r.gate = e.Gate
	case action.WouldSend:
		if r.WouldSend != nil {
			r.WouldSend(e)
		}
	case action.Step:
		r.step(e.Event)
	case action.Move:
		r.move(e.Event)
	case action.Wait:
		r.line(strings.ToUpper(e.Text[:1]) + e.Text[1:] + ".")
	case action.Reading:
		if r.Progress.Due() {
			r.Progress.Say(findings.ReadingText(e.Progress), nil)
		}
	case action.Simulating:
		if r.Progress.Due() {
			r.Progress.Say(findings.SimulatingText(e.Progress), nil)
		}
	case action.Verifying:
		if r.Progress.Due() {
			r.Progress.Say("Reading "+e.Namespace, &display.Amount{Done: float64(e.Bytes),
				Left: float64(max(0, e.OfBytes-e.Bytes)), Text: humanize.Bytes[float64]})
		}
	case action.InTheWay:
		spell := r.Spell
		if spell == nil {
			spell = func(option string) string { return option }
		}
		r.line("In the way: " + e.Text(spell) + ".")
	case action.Auditing:
		if r.Progress.Due() {
			r.Progress.Say("Reading "+e.Namespace, &display.Amount{Done: float64(e.Docs), Left: float64(max(0, e.Of-e.Docs)),
				Text: func(n float64) string { return humanize.Count(int64(n), "document") }})
		}
	case action.NotYet:
		text := e.Err.Error()
		if named := action.Spelled(nil); r.Spell != nil && errors.As(e.Err, &named) {
			text = strings.ReplaceAll(text, named.Error(), named.Spelled(r.Spell))
		}
		r.line("Not possible yet: " + text)
	case action.Note:
		r.line(e.Text)
	}
}

func (r *Reporter) line(text string) {
	r.Progress.End()
	if r.Note != nil {
		r.Note(text)
	}
}

// Ticks is for action.Control: as often as a progress is shown, while steps go on. A
// clock that is not the wall's is not waited for.
func Ticks(p *display.Progress, wall bool) (tick <-chan time.Time, stop func()) {
	if p == nil || !wall {
		return nil, func() {}
	}
	ticker := time.NewTicker(p.Every)
	return ticker.C, ticker.Stop
}

// foresee has an amount say how long the rest takes, as a range once there is one.
func (r *Reporter) foresee(a *display.Amount) *display.Amount {
	if r.gate == nil {
		return a
	}
	a.Unforeseen = true
	if toGo := r.gate.Stats().ToGo; toGo != nil {
		a.ToGo = fmt.Sprintf("%s to %s to go", forecast.Text(toGo.Low), forecast.Text(toGo.High))
		if r.gate.Windowed() {
			a.ToGo += " while the window is open"
		}
	}
	return a
}
