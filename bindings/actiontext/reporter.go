// Package actiontext formats the events and results of actions (balancer/action) as text for the shell
// and for subcommands, and events of balancing as lines of JSON.
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

// Reporter shows the progress of an action. Events without a callback are dropped.
type Reporter struct {
	// Progress shows long waits; nil shows none.
	Progress *display.Progress
	// FormatOption formats the name of an option as the user enters it; nil leaves the name as it is.
	FormatOption func(option string) string
	// Note writes a separate line.
	Note func(text string)
	// WriteEngineEvent writes a line for each event of the engine while it balances; nil leaves the events to
	// Progress.
	WriteEngineEvent func(text string)
	// ShowPlan shows the plan, and ShowOps shows the load to be balanced; nil shows nothing.
	ShowPlan func(p *plan.Plan)
	ShowOps  func(l action.OpsPreview)
	// ShowWouldSend shows a command that a dry run does not send; nil shows nothing.
	ShowWouldSend func(c action.WouldSend)

	gate    *pace.Gate
	planned *plan.Plan
}

// Report shows an event.
func (r *Reporter) Report(e action.Event) {
	switch e := e.(type) {
	case action.Planned:
		if r.planned = e.Plan; r.ShowPlan != nil {
			r.ShowPlan(e.Plan)
		} else if note := e.Plan.Note; note != "" {
			r.writeNote(humanize.Capitalized(note) + ".")
		}
	case action.OpsCounted:
		if r.ShowOps != nil {
			r.ShowOps(e.Preview)
		}
	case action.Started:
		r.gate = e.Gate
	case action.WouldSend:
		if r.ShowWouldSend != nil {
			r.ShowWouldSend(e)
		}
	case action.StepEvent:
		r.reportApplyEvent(e.Event)
	case action.EngineEvent:
		r.reportRunnerEvent(e.Event)
	case action.Wait:
		r.writeNote(humanize.Capitalized(e.Text) + ".")
	case action.ReadProgress:
		if r.Progress.IsDue() {
			r.Progress.Show(findings.ReadingText(e.Progress), nil)
		}
	case action.SimulationProgress:
		if r.Progress.IsDue() {
			r.Progress.Show(findings.SimulatingText(e.Progress), nil)
		}
	case action.VerifyProgress:
		if r.Progress.IsDue() {
			r.Progress.Show("Reading "+e.Namespace, &display.Amount{Done: float64(e.Bytes),
				Remaining: float64(max(0, e.TotalBytes-e.Bytes)), Format: humanize.Bytes[float64]})
		}
	case action.ObstacleFound:
		spell := r.FormatOption
		if spell == nil {
			spell = func(option string) string { return option }
		}
		r.writeNote("In the way: " + e.Text(spell) + ".")
	case action.AuditProgress:
		if r.Progress.IsDue() {
			r.Progress.Show("Reading "+e.Namespace, &display.Amount{
				Done: float64(e.Docs), Remaining: float64(max(0, e.Total-e.Docs)),
				Format: func(n float64) string { return humanize.Count(int64(n), "document") }})
		}
	case action.CannotStartYet:
		text := e.Err.Error()
		if named := action.OptionSpeller(nil); r.FormatOption != nil && errors.As(e.Err, &named) {
			text = strings.ReplaceAll(text, named.Error(), named.SpellOptions(r.FormatOption))
		}
		r.writeNote("Not possible yet: " + text)
	case action.Note:
		r.writeNote(e.Text)
	}
}

func (r *Reporter) writeNote(text string) {
	r.Progress.End()
	if r.Note != nil {
		r.Note(text)
	}
}

// Ticks returns a channel for action.Control that ticks at the interval of the progress while steps
// run. It returns no channel unless the clock is the wall clock.
func Ticks(p *display.Progress, wall bool) (tick <-chan time.Time, stop func()) {
	if p == nil || !wall {
		return nil, func() {}
	}
	ticker := time.NewTicker(p.Interval)
	return ticker.C, ticker.Stop
}

// addEstimate adds the estimated remaining time to an amount, as a range if there is one.
func (r *Reporter) addEstimate(a *display.Amount) *display.Amount {
	if r.gate == nil {
		return a
	}
	a.RemainingTimeUnknown = true
	if toGo := r.gate.Stats().TimeToGo; toGo != nil {
		a.RemainingTimeText = fmt.Sprintf("%s to %s to go", forecast.DurationText(toGo.Low),
			forecast.DurationText(toGo.High))
		if r.gate.HasWindow() {
			a.RemainingTimeText += " while the window is open"
		}
	}
	return a
}
