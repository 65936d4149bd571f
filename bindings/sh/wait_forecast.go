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

// waitForecast is the cached forecast of the remaining time of a wait. It reads the
// cluster when something is first shown, and again only after a time in proportion to
// what the reading took. Without a forecast, the rate so far is used.
type waitForecast struct {
	sh   *Helpers
	goal plan.Goal

	forecast    forecast.Forecast
	madeAt      time.Time // of made
	refreshAt   time.Time // when it may be made again
	unavailable bool      // it can't be made
	// callerHandles reports whether the caller handles a finding itself.
	callerHandles func(diagnosis.Finding) bool
	// stuckBefore: the previous forecast said that nothing moves any more.
	stuckBefore bool
	// lastRemainder is what has to be done by hand as looks of a wait have it, detailed the same with
	// the bounds of chunks.
	lastRemainder, lastDetails string
}

const (
	forecastTimeout    = 10 * time.Second
	minRefreshInterval = 5 * time.Minute
	refreshCostFactor  = 100 // times what the reading took
)

// remainingText returns how much longer it takes in words; empty where unknown.
func (o *waitForecast) remainingText() string {
	o.refreshIfDue()
	gone := o.sh.host.JS.Clock.Now().Sub(o.madeAt)
	if o.unavailable || o.forecast.Never || o.forecast.Done || gone >= o.forecast.High {
		return ""
	}
	low, high := humanize.Duration(max(0, o.forecast.Low-gone)), humanize.Duration(o.forecast.High-gone)
	if low == high {
		return high + " to go"
	}
	return low + " to " + high + " to go"
}

// refreshIfDue updates the forecast when it is due.
func (o *waitForecast) refreshIfDue() {
	if now := o.sh.host.JS.Clock.Now(); !o.unavailable && !now.Before(o.refreshAt) {
		o.refresh(now)
	}
}

func (o *waitForecast) refresh(now time.Time) {
	ctx, cancel := context.WithTimeout(o.sh.host.JS.Context(), forecastTimeout)
	defer cancel()
	made, err := action.Forecast{Goal: o.goal}.Run(ctx, o.sh.source(), nil)
	o.forecast, o.unavailable = made, err != nil
	o.madeAt = now
	o.refreshAt = now.Add(max(minRefreshInterval, refreshCostFactor*o.sh.host.JS.Clock.Now().Sub(now)))
}
