package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
)

// checkWindow forecasts how long the balancer needs, within its window, to balance the collections that
// it may balance.
func (rr *ruleRun) checkWindow() {
	if settings := rr.Settings(); rr.reportGap("settings") || !settings.HasWindow() {
		return
	}
	var work []string
	for _, c := range rr.policyCollections() {
		if diagnosis.DisabledByOf(c.Collection, rr.Release()) == diagnosis.NotDisabled {
			work = append(work, c.Namespace)
		}
	}
	if len(work) == 0 {
		return
	}
	f, err := forecast.Make(rr.Snapshot, forecast.Options{
		Goal: plan.Goal{Kind: plan.Balance, Namespaces: work}, OnProgress: rr.OnProgress,
	})
	switch {
	case err != nil:
		rr.addUnknown(diagnosis.Scope{}, "how long the balancer needs in its window is unknown: %s", err)
	case f.Never:
		because := ""
		if len(f.BlockedBy) > 0 {
			because = ": " + f.BlockedBy[0].Sentence
		}
		rr.add(Finding{Sentence: "the balancer has a window and can't finish" + because})
	case !f.Done:
		rr.addIfOverMax(secondsQuantity(f.Likely), Finding{Sentence: fmt.Sprintf(
			"in its window the balancer needs %s, between %s and %s",
			forecast.DurationText(f.Likely),
			forecast.DurationText(f.Low),
			forecast.DurationText(f.High),
		), Commands: []string{"sh.balancerWindow()"}})
	}
}
