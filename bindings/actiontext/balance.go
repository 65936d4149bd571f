package actiontext

import (
	"fmt"
	"math"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
	"shardsh/balancer/runner"
	"shardsh/bindings/display"
)

func (r *Reporter) reportRunnerEvent(e runner.Event) {
	if text := eventLine(e); text != "" && r.WriteEngineEvent != nil {
		r.Progress.End()
		r.WriteEngineEvent(text)
	}
	if r.Progress.IsDue() {
		r.Progress.Show(progressText(e), r.addEstimate(r.movesAmount(e)))
	}
}

func progressText(e runner.Event) string {
	switch e.Kind {
	case runner.Waiting:
		return "waiting"
	case runner.Began:
		return fmt.Sprintf("moving %s from %s to %s", e.Move.Namespace, e.Move.From, e.Move.To)
	}
	return humanize.Count(e.Done.Moves, "move")
}

func (r *Reporter) movesAmount(e runner.Event) *display.Amount {
	left := math.NaN()
	if r.planned != nil {
		left = float64(max(0, r.planned.Totals.Bytes-e.Done.Bytes))
	}
	return &display.Amount{Done: float64(e.Done.Bytes), Remaining: left, Format: humanize.Bytes[float64]}
}

// BalanceResult returns the result of action.Balance as lines of text.
func BalanceResult(r action.BalanceResult) string {
	how := "Balanced"
	switch {
	case r.Stopped != "":
		how = "Stopped: " + r.Stopped
	case !r.Reached:
		how = "Not balanced"
	case len(r.Left) > 0:
		how = "No more chunks can be moved"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s; %s, %s in %s", how, humanize.Count(r.Moves, "move"), humanize.Bytes(r.Bytes),
		humanize.Duration((time.Duration(r.MS) * time.Millisecond).Truncate(time.Second)))
	if r.Failed > 0 {
		fmt.Fprintf(&text, ", %d failed", r.Failed)
	}
	text.WriteString(".")
	for _, left := range r.Left {
		fmt.Fprintf(&text, "\nLeft: %s", left.Text)
		remedy := left.Code.Info().Remedy
		ofText := left.Code == policy.JumboFlag || left.Code == policy.RangeSkipped // which says what is to be done
		if remedy != "" && !strings.HasPrefix(remedy, "No action") && !ofText {
			fmt.Fprintf(&text, " %s", remedy)
		}
	}
	return text.String()
}

// GiveBackResult returns the result of action.GiveBack as lines of text.
func GiveBackResult(r action.GiveBackResult) string {
	var lines []string
	switch {
	case r.DryRun && len(r.Enabled) > 0:
		lines = append(lines,
			fmt.Sprintf("Balancing of %s was disabled by a run.", humanize.AbbreviateCollections(r.Enabled)))
	case len(r.Enabled) > 0:
		lines = append(lines, fmt.Sprintf("Balancing of %s is on again.", humanize.AbbreviateCollections(r.Enabled)))
	case len(r.Kept) == 0:
		lines = append(lines, "No run has left balancing disabled.")
	}
	if len(r.Kept) > 0 {
		lines = append(lines, fmt.Sprintf("Balancing of %s stays disabled: another user disabled it during the run.",
			humanize.AbbreviateCollections(r.Kept)))
	}
	return strings.Join(lines, "\n")
}

// eventLine returns an event as a line; empty for events that Progress shows.
func eventLine(e runner.Event) string {
	at := e.At.UTC().Format("15:04:05")
	switch m := e.Move; e.Kind {
	case runner.BalancingPaused:
		return fmt.Sprintf("%s balancing of %s paused", at, humanize.AbbreviateCollections(e.Namespaces))
	case runner.Moved:
		upper := "?"
		if !m.Max.IsZero() {
			upper = m.Max.String()
		}
		return fmt.Sprintf("%s moved %s %s to %s, %s -> %s, about %s in %s", at, m.Namespace, m.Min, upper, m.From, m.To,
			humanize.Bytes(m.Bytes), secondsText(m.Took))
	case runner.ForcingMove:
		return fmt.Sprintf("%s moves %s at %s by force, %s -> %s: %s", at, m.Namespace, m.Min, m.From, m.To, e.Why)
	case runner.Failed:
		return fmt.Sprintf("%s failed %s at %s, %s -> %s, after %s: %v (%s)", at, m.Namespace, m.Min, m.From, m.To,
			secondsText(m.Took), e.Err, failureActionText(e.Failure))
	case runner.RefusedByHold:
		return fmt.Sprintf("%s refused: %s at %s, %s -> %s: %v; it is chosen again", at, m.Namespace, m.Min, m.From, m.To,
			e.Err)
	case runner.Stopped:
		return fmt.Sprintf("%s stopped %s at %s, %s -> %s, after %s: nothing was moved", at, m.Namespace, m.Min, m.From, m.To,
			secondsText(m.Took))
	case runner.LeftToServers:
		return fmt.Sprintf("%s still running on the servers: %s at %s, %s -> %s, after %s", at, m.Namespace, m.Min,
			m.From, m.To, secondsText(m.Took))
	case runner.Split:
		if e.Err != nil {
			return fmt.Sprintf("%s not split: %s at %s: %v", at, e.Namespace, e.Min, e.Err)
		}
		return fmt.Sprintf("%s split %s at %s into %d", at, e.Namespace, e.Min, e.PointCount+1)
	case runner.Skipped:
		if e.Min.IsZero() {
			return fmt.Sprintf("%s skipped: %s: %s", at, e.Namespace, e.Why)
		}
		return fmt.Sprintf("%s skipped: %s at %s: %s", at, e.Namespace, e.Min, e.Why)
	case runner.Waiting:
		return fmt.Sprintf("%s waiting for %s: %s", at, humanize.Duration(e.Wait), e.Why)
	}
	return ""
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// failureActionText says how a failure is handled.
func failureActionText(f policy.FailureClass) string {
	return map[policy.FailureClass]string{
		policy.RetryNow: "trying again", policy.RetryLater: "trying again later", policy.SkipRange: "skipping the range",
		policy.AskOperator: "needs you to decide",
	}[f]
}
