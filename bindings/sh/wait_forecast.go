package sh

import (
	"context"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// waitForecast caches the forecast of a wait's remaining time. It reads the cluster when the progress
// is first shown, and again after a time that is proportional to the duration of the read. Without a
// forecast, the rate so far is used.
type waitForecast struct {
	sh   *Helpers
	goal plan.Goal

	forecast    forecast.Forecast
	madeAt      time.Time // time of the forecast
	refreshAt   time.Time // earliest time of the next forecast
	unavailable bool      // no forecast is possible
	// callerHandles reports whether the caller handles a finding itself.
	callerHandles func(diagnosis.Finding) bool
	// stuckBefore says that in the previous forecast nothing could move any more.
	stuckBefore bool
	// lastOperatorText is the last description of the work for the operator, and lastDetails the same with
	// the bounds of chunks.
	lastOperatorText, lastDetails string
}

const (
	forecastTimeout    = 10 * time.Second
	minRefreshInterval = 5 * time.Minute
	refreshCostFactor  = 100 // multiple of the duration of the read
)

// remainingTimeText returns the remaining time in words; empty if it is unknown.
func (w *waitForecast) remainingTimeText() string {
	w.refreshIfDue()
	gone := w.sh.host.JS.Clock.Now().Sub(w.madeAt)
	if w.unavailable || w.forecast.Never || w.forecast.Done || gone >= w.forecast.High {
		return ""
	}
	low, high := humanize.Duration(max(0, w.forecast.Low-gone)), humanize.Duration(w.forecast.High-gone)
	if low == high {
		return high + " to go"
	}
	return low + " to " + high + " to go"
}

// refreshIfDue updates the forecast when it is due.
func (w *waitForecast) refreshIfDue() {
	if now := w.sh.host.JS.Clock.Now(); !w.unavailable && !now.Before(w.refreshAt) {
		w.refresh(now)
	}
}

func (w *waitForecast) refresh(now time.Time) {
	ctx, cancel := context.WithTimeout(w.sh.host.JS.Context(), forecastTimeout)
	defer cancel()
	made, err := action.Forecast{Goal: w.goal}.Run(ctx, w.sh.source(), nil)
	w.forecast, w.unavailable = made, err != nil
	w.madeAt = now
	w.refreshAt = now.Add(max(minRefreshInterval, refreshCostFactor*w.sh.host.JS.Clock.Now().Sub(now)))
}
