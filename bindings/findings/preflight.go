package findings

import (
	"fmt"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/preflight"
)

// PreflightText returns what is in the way of a run, and what else is worth knowing before
// it. Options are spelled as the face has them.
func PreflightText(r preflight.Report, spell func(option string) string) string {
	var p page
	of := r.Verb
	if r.Plan != "" {
		of += " (" + r.Plan + ")"
	}
	switch n := len(r.Stopping()); {
	case n > 0:
		p.wrapped(0, sentence(fmt.Sprintf("Preflight of %s: %s in the way", of, things(n))))
	default:
		p.wrapped(0, sentence(fmt.Sprintf("Preflight of %s: nothing is in the way", of)))
	}
	p.obstacles("In the way", r.Stopping(), r.Time, spell)
	p.obstacles("Worth knowing", r.Obstacles[len(r.Stopping()):], r.Time, spell)
	if len(r.Unread) > 0 {
		p.heading("Not looked at")
	}
	for _, text := range r.Unread {
		p.wrapped(2, sentence(text))
	}
	return p.String()
}

func things(n int) string {
	if n == 1 {
		return "1 thing is"
	}
	return humanize.Count(int64(n), "thing") + " are"
}

// weight says what an obstacle is to the run.
func weight(o preflight.Obstacle) string {
	switch {
	case !o.Stops:
		return "note"
	case o.Waits:
		return "waits"
	}
	return "stops"
}

func (p *page) obstacles(title string, list []preflight.Obstacle, now time.Time, spell func(option string) string) {
	if len(list) == 0 {
		return
	}
	p.heading(title)
	for _, o := range list {
		p.headed(weight(o), fmt.Sprintf("%s (%s)", o.Sentence, o.Code))
		p.remedy(o.Finding, now)
		if o.Option != "" {
			p.wrapped(indent, fmt.Sprintf("or: %s %s", spell(o.Option), o.Does))
		}
	}
}
