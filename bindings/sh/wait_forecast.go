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

// outlook is the forecast from which a wait shows the remaining time. It reads the
// cluster when something is first shown, and again only after a time in proportion to
// what the reading took. Without a forecast, the rate so far is used.
type outlook struct {
	sh   *Helpers
	goal plan.Goal

	made forecast.Forecast
	at   time.Time // of made
	next time.Time // when it may be made again
	off  bool      // it can't be made
	// ours reports whether the caller sees to what a finding says.
	ours func(diagnosis.Finding) bool
	// suspected: the forecast before had it that nothing moves any more.
	suspected bool
	// remains is what has to be done by hand as looks of a wait have it, detailed the same with
	// the bounds of chunks.
	remains, detailed string
}

const (
	longestReading = 10 * time.Second
	renewal        = 5 * time.Minute
	renewalShare   = 100 // times what the reading took
)

// toGo returns how much longer it takes in words; empty where unknown.
func (o *outlook) toGo() string {
	o.renew()
	gone := o.sh.s.JS.Clock.Now().Sub(o.at)
	if o.off || o.made.Never || o.made.Done || gone >= o.made.High {
		return ""
	}
	low, high := humanize.Duration(max(0, o.made.Low-gone)), humanize.Duration(o.made.High-gone)
	if low == high {
		return high + " to go"
	}
	return low + " to " + high + " to go"
}

// renew makes the forecast again when it is time.
func (o *outlook) renew() {
	if now := o.sh.s.JS.Clock.Now(); !o.off && !now.Before(o.next) {
		o.make(now)
	}
}

func (o *outlook) make(now time.Time) {
	ctx, cancel := context.WithTimeout(o.sh.s.JS.Context(), longestReading)
	defer cancel()
	made, err := action.Forecast{Goal: o.goal}.Run(ctx, o.sh.source(), nil)
	o.made, o.off = made, err != nil
	o.at = now
	o.next = now.Add(max(renewal, renewalShare*o.sh.s.JS.Clock.Now().Sub(now)))
}
