package mock

import (
	"context"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
)

// Pauses are the servers' fail points at which a thread waits until they are off: tools' tests stop a
// migration, a resharding or a range deletion there. The cluster's lock guards them.
type Pauses struct {
	clock  *clock.Clock
	points map[string]*pausePoint
}

// pausePoint is a fail point; node is where it holds, empty for every node.
type pausePoint struct {
	active      bool
	node        catalog.ShardID
	skip, times int64 // so many go through, then so many wait; times below 0 has no end
	entered     int64
	waiting     []func()
}

// PauseMode is a fail point's mode.
type PauseMode struct {
	Active      bool
	Skip, Times int64
}

// Names of fail points.
const (
	suspendRangeDeletion      = "suspendRangeDeletion"
	pauseBeforeInitializing   = "reshardingPauseCoordinatorBeforeInitializing"
	pauseBeforeCloning        = "reshardingPauseCoordinatorBeforeCloning"
	pauseInSteadyState        = "reshardingPauseCoordinatorInSteadyState"
	pauseBeforeBlockingWrites = "reshardingPauseCoordinatorBeforeBlockingWrites"
	pauseBeforeDecision       = "reshardingPauseCoordinatorBeforeDecisionPersisted"
	// With the number of the step. What comes after the donor's fourth, the commit, takes no time here,
	// nor do the recipient's first two.
	hangAtDonorStep     = "moveChunkHangAtStep"
	hangAtRecipientStep = "migrateThreadHangAtStep"
)

// pauseNames lists the fail points that there are.
func pauseNames() []string {
	names := []string{suspendRangeDeletion, pauseBeforeInitializing, pauseBeforeCloning, pauseInSteadyState,
		pauseBeforeBlockingWrites, pauseBeforeDecision}
	for n := 1; n <= 4; n++ {
		names = append(names, stepPoint(hangAtDonorStep, n), stepPoint(hangAtRecipientStep, n+2))
	}
	slices.Sort(names)
	return names
}

func stepPoint(name string, step int) string { return name + string(rune('0'+step)) }

func newPauses(k *clock.Clock) *Pauses {
	ps := &Pauses{clock: k, points: map[string]*pausePoint{}}
	for _, name := range pauseNames() {
		ps.points[name] = &pausePoint{}
	}
	return ps
}

// Pauses returns those of the cluster.
func (c *Cluster) Pauses() *Pauses { return c.pauses }

// Names lists the fail points in order.
func (ps *Pauses) Names() []string { return pauseNames() }

// Configure sets a fail point on a node, or on all, and returns how often it was entered so far. Who
// waits goes on where it does not hold any more.
func (ps *Pauses) Configure(name string, node catalog.ShardID, mode PauseMode) int64 {
	p := ps.points[name]
	p.active, p.node, p.skip, p.times = mode.Active, node, mode.Skip, mode.Times
	if !p.active {
		p.release(ps.clock)
	}
	return p.entered
}

func (p *pausePoint) release(k *clock.Clock) {
	for _, goOn := range p.waiting {
		k.After(0, goOn)
	}
	p.waiting = nil
}

// Await waits until a fail point was entered so many times.
func (ps *Pauses) Await(ctx context.Context, deadline time.Time, name string, times int64) error {
	return ps.clock.Await(ctx, deadline, func() bool { return ps.points[name].entered >= times })
}

// anyWaits reports whether a thread waits: that it goes on nobody can see to while virtual time stands
// still for all others.
func (ps *Pauses) anyWaits() bool {
	for _, p := range ps.points {
		if len(p.waiting) > 0 {
			return true
		}
	}
	return false
}

// reset turns all off and forgets who waits.
func (ps *Pauses) reset() {
	for _, p := range ps.points {
		*p = pausePoint{}
	}
}

// at has a node go on past a fail point, now or when it is turned off.
func (ps *Pauses) at(name string, node catalog.ShardID, goOn func()) {
	p := ps.points[name]
	if !p.active || p.node != "" && p.node != node {
		goOn()
		return
	}
	if p.skip > 0 {
		p.skip--
		goOn()
		return
	}
	p.entered++
	p.waiting = append(p.waiting, goOn)
	if p.times > 0 {
		if p.times--; p.times == 0 { // it waits no longer than the point is on
			p.active = false
			p.release(ps.clock)
		}
	}
}
