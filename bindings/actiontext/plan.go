package actiontext

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/humanize"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/server"
)

func (r *Reporter) reportApplyEvent(e apply.Event) {
	if text := applyEventLine(e); text != "" {
		r.writeNote(text)
		return
	}
	if r.Progress.IsDue() {
		r.Progress.Show(stepText(e), r.addEstimate(stepsAmount(e.Progress)))
	}
}

// stepText says which step is running.
func stepText(e apply.Event) string {
	text := fmt.Sprintf("step %d of %d, %s of %s", e.Step.Number, e.Progress.Steps, e.Step.Kind, e.Step.Namespace)
	if e.Kind == apply.StillRunning {
		text += " for " + humanize.Duration(e.StepAge)
	}
	return text
}

// stepsAmount measures progress in bytes if some steps move bytes, otherwise in steps.
func stepsAmount(p apply.Progress) *display.Amount {
	if p.Bytes > p.BytesDone || p.BytesThisRun > 0 {
		return &display.Amount{
			Done: float64(p.BytesThisRun), Remaining: float64(p.Bytes - p.BytesDone), Format: humanize.Bytes[float64],
		}
	}
	return &display.Amount{Done: float64(p.StepsThisRun), Remaining: float64(p.Steps - p.StepsDone), Format: stepsText}
}

func stepsText(n float64) string {
	if n == 1 {
		return "1 step"
	}
	return plaintext.JSNumber(float64(int(n*10))/10) + " steps"
}

// byteDifferenceDivisor limits the difference between moved and planned bytes. If the difference
// exceeds the planned bytes divided by byteDifferenceDivisor, PlanResult also shows the planned bytes.
const byteDifferenceDivisor = 20

// PlanResult returns the result of applying a plan, as text.
func PlanResult(r action.PlanResult) string {
	what := fmt.Sprintf("%d of %d steps are done, %d of %d moves, %s of %s", r.StepsDone, r.Steps, r.MovesDone, r.Moves,
		humanize.Bytes(r.BytesDone), humanize.Bytes(r.Bytes))
	if r.Finished {
		what = movedText(r)
	}
	if d := r.Bytes - r.BytesPlanned; max(d, -d) > r.BytesPlanned/byteDifferenceDivisor {
		what += fmt.Sprintf(" (%s had been planned)", humanize.Bytes(r.BytesPlanned))
	}
	if r.Replans > 0 {
		what += fmt.Sprintf(", after %s", humanize.Count(r.Replans, "new plan"))
	}
	switch {
	case r.AlreadyReachedText != "":
		return r.AlreadyReachedText
	case r.DryRun && r.Steps == 0 && r.Stopped == "":
		return "Nothing to move, split or merge."
	case r.Applicable:
		return fmt.Sprintf("%s can be applied: %s; nothing was sent.", r.PlanID, humanize.Count(r.Steps-r.StepsDone, "step"))
	case r.DryRun && r.Stopped != "":
		return fmt.Sprintf("%s can't be applied completely: %s; nothing was sent.", r.PlanID, r.Stopped)
	case r.DryRun:
		return fmt.Sprintf("%s can't be applied as things stand; nothing was sent.", r.PlanID)
	case r.Finished && r.Steps == 0:
		return "Nothing to move, split or merge."
	case r.Finished:
		return fmt.Sprintf("%s is applied: %s.", r.PlanID, what)
	}
	text := fmt.Sprintf("%s is not applied: %s.", r.PlanID, what)
	if r.Stopped != "" {
		text = fmt.Sprintf("%s was stopped: %s; %s.", r.PlanID, r.Stopped, what)
	}
	if r.Warning != "" {
		text += " " + r.Warning
	}
	return text
}

// movedText describes what a finished plan has moved, and how long this run took for its part.
func movedText(r action.PlanResult) string {
	text := fmt.Sprintf("%s and %s moved", humanize.Count(r.Steps, "step"), humanize.Bytes(r.Bytes))
	took := humanize.Duration((time.Duration(r.MS) * time.Millisecond).Truncate(time.Second))
	switch {
	case r.StepsThisRun == 0 && r.Replans == 0:
		return text + " by earlier runs, nothing by this one"
	case r.StepsThisRun < r.Steps && r.Replans == 0:
		return fmt.Sprintf("%s, %s of them now in %s", text, humanize.Count(r.StepsThisRun, "step"), took)
	}
	return text + " in " + took
}

// applyEventLine returns an event as a line; empty for events that the progress shows.
func applyEventLine(e apply.Event) string {
	switch e.Kind {
	case apply.Retrying:
		return fmt.Sprintf("Trying again: %s.", strings.TrimSuffix(e.Err.Error(), "."))
	case apply.WaitingForDeletion:
		return fmt.Sprintf("Step %d: waiting for range deletion on %s.",
			e.Step.Number, e.Step.To)
	case apply.Replanned:
		if e.Err == nil {
			return fmt.Sprintf("The goal is not reached yet: %s takes over, %s.", e.Plan.ID, humanize.Count(len(e.Plan.Steps),
				"step"))
		}
		return fmt.Sprintf("%s: %s takes over, %s.", e.Err, e.Plan.ID, humanize.Count(len(e.Plan.Steps), "step"))
	case apply.ForcingMove:
		return fmt.Sprintf("Step %d moves a chunk of %s by force: %s.", e.Step.Number, e.Step.Namespace, e.Forced)
	case apply.LeftInPlace:
		return fmt.Sprintf("Step %d is left out: %s.", e.Step.Number, e.Err)
	case apply.BalancingPaused:
		return fmt.Sprintf("Balancing of %s is paused.", humanize.AbbreviateCollections(e.Namespaces))
	case apply.BalancingResumed:
		return fmt.Sprintf("Balancing of %s is on again.", humanize.AbbreviateCollections(e.Namespaces))
	case apply.WaitingToStop:
		return "Stopping after the running steps."
	case apply.RouterUnreachable:
		_, why := server.DescribeConnectionError(e.Err)
		return fmt.Sprintf("The router does not answer (%s); waiting for it. A step under way may go on meanwhile: its "+
			"outcome is checked before anything is sent again; show migrations also shows it.", why)
	}
	return ""
}
