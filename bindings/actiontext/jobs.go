package actiontext

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
)

// JobStatus returns the progress of a job as lines of text.
func JobStatus(s action.JobStatus) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	text := fmt.Sprintf("The job %s is %s", s.Job, s.State)
	if s.State == live.JobNone {
		text = fmt.Sprintf("There is no job %s", s.Job)
	}
	if p := s.Progress; p.Steps > 0 {
		text += fmt.Sprintf(": %d of %d steps, %d of %d moves, %s of %s (%g%%)", p.StepsDone, p.Steps, p.MovesDone, p.Moves,
			humanize.Bytes(p.BytesDone), humanize.Bytes(p.Bytes), p.Percent)
		if p.ETASeconds > 0 && !s.State.Ended() {
			text += ", about " + humanize.Duration(time.Duration(p.ETASeconds)*time.Second) + " left"
		}
	}
	say("%s.", text)
	if s.Worker != "" {
		say("At work: %s.", s.Worker)
	}
	for _, b := range s.BlockedBy {
		say("%s: %s", humanize.Capitalized(b.What), strings.TrimSuffix(b.Text, "."))
		if b.Remedy != "" {
			say("  %s", b.Remedy)
		}
	}
	if s.Error != "" {
		say("Error: %s", s.Error)
	}
	for i, command := range s.NextSteps {
		say("%-5s %s", map[bool]string{true: "Next:"}[i == 0], command)
	}
	return lines
}
