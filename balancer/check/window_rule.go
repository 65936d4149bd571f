package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
)

// checkWindow forecasts how long the balancer needs, within its window, to balance the collections that
// it may balance.
func (l *ruleRun) checkWindow() {
	settings := l.Settings()
	if settings.Window == nil && len(settings.Days) == 0 || l.reportGap("settings") {
		return
	}
	var work []string
	for _, c := range l.policyCollections() {
		if diagnosis.DisabledByOf(c.Collection, l.Release()) == diagnosis.NotDisabled {
			work = append(work, c.Namespace)
		}
	}
	if len(work) == 0 {
		return
	}
	f, err := forecast.Make(l.Snapshot, forecast.Options{
		Goal: plan.Goal{Kind: plan.Balance, Namespaces: work}, Watch: l.Watch,
	})
	switch {
	case err != nil:
		l.addUnknown(diagnosis.Scope{}, "how long the balancer needs in its window is unknown: %s", err)
	case f.Never:
		because := ""
		if len(f.Because) > 0 {
			because = ": " + f.Because[0].Sentence
		}
		l.add(Finding{Sentence: "the balancer has a window and can't finish" + because})
	case !f.Done:
		l.addIfOverMax(secondsQuantity(f.Likely), Finding{Sentence: fmt.Sprintf(
			"in its window the balancer needs %s, between %s and %s",
			forecast.RoundedDuration(f.Likely),
			forecast.RoundedDuration(f.Low),
			forecast.RoundedDuration(f.High),
		), Commands: []string{"sh.balancerWindow()"}})
	}
}
