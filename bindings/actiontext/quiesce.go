package actiontext

import (
	"fmt"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
)

// QuiesceResult returns the result of a quiesce as lines of text.
func QuiesceResult(r action.QuiesceResult) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	waited := humanize.Duration(time.Duration(r.WaitedMillis) * time.Millisecond)
	switch r.Verdict {
	case action.VerdictQuiet:
		held := humanize.Duration(time.Duration(r.HeldMillis) * time.Millisecond)
		if !r.Until.IsZero() {
			held = "until " + timeText(r.Until) + " or --end"
		} else {
			held = "for " + held
		}
		say("Quiet from %s on, after %s, %s%s.", timeText(r.Quiet), waited, held, termText(r))
	case action.VerdictNotQuiet:
		say("Not quiet after %s. Still under way:", waited)
		for _, b := range r.Running {
			say("  %s", b)
		}
	case action.VerdictBroken:
		say("The cluster did not stay quiet:")
		for _, text := range r.Violations {
			say("  %s", text)
		}
	case action.VerdictEnded:
		if r.GivenBack == "" {
			say("Nothing to end: no quiesce has stopped the balancer.")
		}
	case action.VerdictDryRun:
		say("The balancer is %s. Under way:", r.PreviousMode)
		for _, b := range r.Running {
			say("  %s", b)
		}
		if len(r.Running) == 0 {
			say("  nothing")
		}
	}
	if r.GivenBack != "" {
		say("%s.", humanize.Capitalized(r.GivenBack))
	}
	return lines
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func termText(r action.QuiesceResult) string {
	switch {
	case r.Term == 0:
		return ""
	case r.StepDown:
		return fmt.Sprintf(" (term %d of the config server, which stepped down meanwhile)", r.Term)
	}
	return fmt.Sprintf(" (term %d of the config server)", r.Term)
}
