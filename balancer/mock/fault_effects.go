package mock

import "slices"

// faultEffects brings to the balancer and the migrations what befalls the nodes
// that they run on.
type faultEffects struct {
	balancer   *Balancer
	migrations *Migrations
}

func (e faultEffects) configServerDown() { e.balancer.end() }

// configServerUp begins a new term.
func (e faultEffects) configServerUp() {
	e.balancer.term++
	e.balancer.begin()
}

func (e faultEffects) nodesChanged() {
	for _, m := range e.migrations.byDonor() {
		m.checkParties()
	}
	for _, m := range slices.Clone(e.migrations.unfinished) {
		m.recover()
	}
}

func (e faultEffects) unfinished() int { return len(e.migrations.unfinished) }
