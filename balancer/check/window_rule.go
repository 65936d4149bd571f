package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
)

// window forecasts how long the balancer needs in its window for the collections
// that it may touch.
func (l *ruleRun) window() {
	settings := l.Settings()
	if settings.Window == nil && len(settings.Days) == 0 || l.gap("settings") {
		return
	}
	var work []string
	for _, c := range l.chosen() {
		if diagnosis.HoldOf(c.Collection, l.Release()) == diagnosis.NotHeld {
			work = append(work, c.Namespace)
		}
	}
	if len(work) == 0 {
		return
	}
	f, err := forecast.Of(l.Snapshot, forecast.Options{
		Goal: plan.Goal{Kind: plan.Balance, Namespaces: work}, Watch: l.Watch,
	})
	switch {
	case err != nil:
		l.unknown(diagnosis.Scope{}, "how long the balancer needs in its window is unknown: %s", err)
	case f.Never:
		because := ""
		if len(f.Because) > 0 {
			because = ": " + f.Because[0].Sentence
		}
		l.add(Finding{Sentence: "the balancer has a window and can't finish" + because})
	case !f.Done:
		l.measured(seconds(f.Likely), Finding{Sentence: fmt.Sprintf(
			"in its window the balancer needs %s, between %s and %s",
			forecast.Text(f.Likely), forecast.Text(f.Low), forecast.Text(f.High)), Commands: []string{"sh.balancerWindow()"}})
	}
}
