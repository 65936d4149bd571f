package sh

import (
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/bindings/script"
)

// checkStuck throws if the wait can't end, and warns early if the balancer will do only a part of the
// work.
func (w *wait) checkStuck(now workState) {
	if now.stuckReason != "" {
		w.throwOrWarnStuck(now.stuckReason)
		return
	}
	if w.forecast == nil {
		return
	}
	stuck, later := w.forecast.obstacles()
	if len(stuck) > 0 {
		w.throwOrWarnStuck(findingsText(stuck))
	}
	for _, f := range later {
		w.warnOnce("As things stand this will not end by itself: " + f.Text())
	}
}

// throwOrWarnStuck throws a StuckError, or only warns with keepWaiting.
func (w *wait) throwOrWarnStuck(why string) {
	if w.keepWaiting {
		w.warnOnce("Waiting all the same: " + why)
		return
	}
	w.progress.End()
	w.host.JS.Throw(script.UnreachableStateErrorName, "%s", why)
}

func (w *wait) warnOnce(text string) {
	if w.warned[text] {
		return
	}
	if w.warned == nil {
		w.warned = map[string]bool{}
	}
	w.warned[text] = true
	w.progress.End()
	w.host.JS.Out.Warn(text)
}

// obstacles returns the findings that block the goal now, if two consecutive forecasts agree, and those
// that will block it later.
func (w *waitForecast) obstacles() (stuck, later []diagnosis.Finding) {
	w.refreshIfDue()
	if w.unavailable {
		return nil, nil
	}
	stuck = w.notHandledByCaller(w.forecast.StuckObstacles())
	switch {
	case len(stuck) == 0:
		w.stuckBefore = false
		return nil, w.notHandledByCaller(w.forecast.Obstacles())
	case !w.stuckBefore:
		w.stuckBefore, w.refreshAt = true, w.madeAt
		return nil, nil
	}
	return stuck, nil
}

// notHandledByCaller leaves out findings that the caller handles.
func (w *waitForecast) notHandledByCaller(list []diagnosis.Finding) (rest []diagnosis.Finding) {
	for _, f := range list {
		if w.callerHandles == nil || !w.callerHandles(f) {
			rest = append(rest, f)
		}
	}
	return rest
}

// throwIfStuck throws if the awaited state can't be reached.
func (w *waitForecast) throwIfStuck() {
	if stuck, _ := w.obstacles(); len(stuck) > 0 {
		w.sh.host.JS.Throw(script.UnreachableStateErrorName, "%s", findingsText(stuck))
	}
}

// remainingWorkText describes the work for the operator before a shard is empty, with the bounds of chunks.
// It reads the cluster for that, once for each different remainder.
func (w *waitForecast) remainingWorkText(d diagnosis.Drain) string {
	plain := d.OperatorFinding().Text()
	switch {
	case d.JumboToForce == 0:
		return plain
	case plain == w.lastOperatorText:
		return w.lastDetails
	}
	w.lastOperatorText, w.lastDetails, w.refreshAt = plain, plain, w.madeAt
	w.refreshIfDue()
	for _, f := range w.forecast.BlockedBy {
		if f.Code == diagnosis.DrainNeedsOperator && f.Scope.Shard == d.Shard {
			w.lastDetails = f.Text()
		}
	}
	return w.lastDetails
}

// findingsText describes the most important findings and their remedies.
func findingsText(list []diagnosis.Finding) string {
	const most = 3
	var parts []string
	for _, f := range list[:min(most, len(list))] {
		parts = append(parts, f.Text())
	}
	return strings.Join(parts, "; ")
}
