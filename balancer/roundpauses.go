package balancer

import (
	"time"

	"shardsh/balancer/catalog"
)

// roundPauses are the sleeps of the main thread after a round (rules/01-rounds-and-settings §1.8).
type roundPauses struct {
	moved, nothingMoved    time.Duration // there were candidates
	idle, disabled, failed time.Duration
	throttled              bool // a batch of migrations waits for the throttle
}

// pausesFor returns the pauses of a release. From 7.0 on, a round with candidates is followed by the
// next round immediately; its migrations wait for the throttle instead.
func pausesFor(r catalog.Release) roundPauses {
	const short = time.Second
	p := roundPauses{idle: RoundInterval, disabled: RoundInterval, failed: RoundInterval}
	switch {
	case r.FCVAtLeast(catalog.Release70):
		p.throttled = true
	case r.HasConfigServerBalancer():
		p.moved, p.nothingMoved = short, RoundInterval
	default:
		p.moved, p.nothingMoved = 5*time.Second, RoundInterval
		p.disabled, p.failed = 30*time.Second, 30*time.Second
	}
	return p
}
