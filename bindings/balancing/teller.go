package balancing

import (
	"fmt"
	"math"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/forecast"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/balancer/runner"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
)

// Teller tells people what a run does: a line for everything that happens, and how
// far it is.
type Teller struct {
	// Progress is nil where nobody wants it.
	Progress *display.Progress
	// Line writes a line of what happens, nil nowhere.
	Line func(text string)
	// Plan says what was to be done; nil where nobody knows.
	Plan *plan.Plan
	// Gate knows how long the rest takes; nil where nobody does.
	Gate *pace.Gate
}

// Tell is for runner.Options.
func (t Teller) Tell(e runner.Event) {
	t.Expect(e)
	if text := Line(e); text != "" && t.Line != nil {
		t.Progress.End()
		t.Line(text)
	}
	if t.Progress.Due() {
		t.Progress.Say(what(e), t.amount(e))
	}
}

func what(e runner.Event) string {
	switch e.Kind {
	case runner.Waiting:
		return "waiting"
	case runner.Began:
		return fmt.Sprintf("moving %s from %s to %s", e.Move.Namespace, e.Move.From, e.Move.To)
	}
	return counted(e.Done.Moves, "move")
}

// Expect tells the Gate what is left of the plan.
func (t Teller) Expect(e runner.Event) {
	if t.Plan != nil && t.Gate != nil {
		t.Gate.Expect(pace.Left{
			Bytes: max(0, t.Plan.Totals.Bytes-e.Done.Bytes), Steps: max(0, t.Plan.Totals.Moves-e.Done.Moves),
		})
	}
}

func (t Teller) amount(e runner.Event) *display.Amount {
	left := math.NaN()
	if t.Plan != nil {
		left = float64(max(0, t.Plan.Totals.Bytes-e.Done.Bytes))
	}
	a := &display.Amount{Done: float64(e.Done.Bytes), Left: left, Text: plaintext.SizeText}
	Foresee(a, t.Gate)
	return a
}

// Foresee has an amount say how long the rest takes, as a range once there is one.
func Foresee(a *display.Amount, g *pace.Gate) {
	if g == nil {
		return
	}
	a.Unforeseen = true
	if r := g.Stats().ToGo; r != nil {
		a.ToGo = fmt.Sprintf("%s to %s to go", forecast.Text(r.Low), forecast.Text(r.High))
		if g.Windowed() {
			a.ToGo += " while the window is open"
		}
	}
}

// Line is what happens, in a line; empty for what progress shows.
func Line(e runner.Event) string {
	at := e.At.UTC().Format("15:04:05")
	switch m := e.Move; e.Kind {
	case runner.TakenOver:
		return fmt.Sprintf("%s the balancing of %s is off meanwhile", at, e.Namespace)
	case runner.Moved:
		upper := "?"
		if !m.Max.IsZero() {
			upper = m.Max.String()
		}
		return fmt.Sprintf("%s moved %s %s to %s, %s -> %s, about %s in %s", at, m.Namespace, m.Min, upper, m.From, m.To,
			size(m.Bytes), seconds(m.Took))
	case runner.Failed:
		return fmt.Sprintf("%s failed %s from %s on, %s -> %s, after %s: %v (%s)", at, m.Namespace, m.Min, m.From, m.To,
			seconds(m.Took), e.Err, Then(e.Then))
	case runner.GoesOn:
		return fmt.Sprintf("%s left to the servers: %s from %s on, %s -> %s, after %s", at, m.Namespace, m.Min, m.From, m.To,
			seconds(m.Took))
	case runner.Split:
		if e.Err != nil {
			return fmt.Sprintf("%s not split: %s at %s: %v", at, e.Namespace, e.Min, e.Err)
		}
		return fmt.Sprintf("%s split %s at %s into %d", at, e.Namespace, e.Min, e.Points+1)
	case runner.Aside:
		if e.Min.IsZero() {
			return fmt.Sprintf("%s left alone: %s: %s", at, e.Namespace, e.Why)
		}
		return fmt.Sprintf("%s left alone: %s at %s: %s", at, e.Namespace, e.Min, e.Why)
	case runner.Waiting:
		return fmt.Sprintf("%s waiting for %s: %s", at, humanize.Duration(e.For), e.Why)
	}
	return ""
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Then says in words what is done after a failure.
func Then(f policy.Failure) string {
	return map[policy.Failure]string{
		policy.AgainNow: "tried again", policy.AgainLater: "tried again later", policy.SkipRange: "the range is left alone",
		policy.Ask: "that is for you to decide",
	}[f]
}
