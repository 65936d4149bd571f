package findings

import (
	"fmt"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/balancer/preflight"
)

// PreflightText returns the obstacles of a run, those that stop it first. formatOption formats names
// for the command line or for JavaScript.
func PreflightText(r preflight.Report, formatOption func(option string) string) string {
	var p page
	of := r.Verb
	if r.Plan != "" {
		of += " (" + r.Plan + ")"
	}
	found := "no obstacles"
	if n := len(r.StoppingObstacles()); n > 0 {
		found = thingsText(n) + " in the way"
	}
	p.writeWrapped(0, sentence(fmt.Sprintf("Preflight of %s: %s", of, found)))
	p.writeObstacles("In the way", r.StoppingObstacles(), r.Time, formatOption)
	p.writeObstacles("Worth knowing", r.Obstacles[len(r.StoppingObstacles()):], r.Time, formatOption)
	if len(r.Unread) > 0 {
		p.writeHeading("Not checked")
	}
	for _, text := range r.Unread {
		p.writeWrapped(2, sentence(text))
	}
	return p.String()
}

func thingsText(n int) string {
	if n == 1 {
		return "1 thing is"
	}
	return humanize.Count(int64(n), "thing") + " are"
}

// obstacleLabel returns the label of an obstacle's effect on the run.
func obstacleLabel(o preflight.Obstacle) string {
	switch {
	case !o.Stops:
		return "note"
	case o.Waits:
		return "waits"
	}
	return "stops"
}

func (p *page) writeObstacles(
	title string,
	list []preflight.Obstacle,
	now time.Time,
	formatOption func(option string) string,
) {
	if len(list) == 0 {
		return
	}
	p.writeHeading(title)
	for _, o := range list {
		p.writeLabelled(obstacleLabel(o), fmt.Sprintf("%s (%s)", o.Sentence, o.Code))
		p.writeRemedy(o.Finding, now)
		if o.Option != "" {
			p.writeWrapped(indent, fmt.Sprintf("or: %s %s", formatOption(o.Option), o.OptionEffect))
		}
	}
}
