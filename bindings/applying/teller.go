package applying

import (
	"fmt"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/apply"
	"shardsh/balancer/pace"
	"shardsh/bindings/balancing"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
)

// Teller tells people how far a plan is.
type Teller struct {
	// Progress is nil where nobody wants it.
	Progress *display.Progress
	// Note writes a line of its own.
	Note func(text string)
	// Gate knows how long the rest takes; nil where nobody does.
	Gate *pace.Gate
}

// Tell is for apply.Options.
func (t Teller) Tell(e apply.Event) {
	if p := e.Progress; t.Gate != nil && p.Steps > 0 {
		t.Gate.Expect(pace.Left{Bytes: p.Bytes - p.BytesDone, Steps: p.Steps - p.StepsDone})
	}
	if text := Moment(e); text != "" {
		t.Progress.End()
		t.Note(text)
		return
	}
	if t.Progress.Due() {
		a := amount(e.Progress)
		balancing.Foresee(a, t.Gate)
		t.Progress.Say(what(e), a)
	}
}

// Ticks is for apply.Options: as often as a progress is said, while steps go on.
// Nobody waits for a clock that is not the wall's.
func Ticks(p *display.Progress, wall bool) (tick <-chan time.Time, stop func()) {
	if p == nil || !wall {
		return nil, func() {}
	}
	ticker := time.NewTicker(p.Every)
	return ticker.C, ticker.Stop
}

// what says which step it is at.
func what(e apply.Event) string {
	text := fmt.Sprintf("step %d of %d, %s of %s", e.Step.Number, e.Progress.Steps, e.Step.Kind, e.Step.Namespace)
	if e.Kind == apply.Going {
		text += " for " + humanize.Duration(e.Age)
	}
	return text
}

// amount measures by bytes where some move, else by steps.
func amount(p apply.Progress) *display.Amount {
	if p.Bytes > p.BytesDone || p.BytesHere > 0 {
		return &display.Amount{
			Done: float64(p.BytesHere), Left: float64(p.Bytes - p.BytesDone), Text: plaintext.SizeText,
		}
	}
	return &display.Amount{Done: float64(p.StepsHere), Left: float64(p.Steps - p.StepsDone), Text: stepsText}
}

func stepsText(n float64) string {
	if n == 1 {
		return "1 step"
	}
	return plaintext.PlainNumber(float64(int(n*10))/10) + " steps"
}
