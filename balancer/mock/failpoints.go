package mock

import (
	"context"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
)

// FailPoints are the servers' fail points at which a thread waits until they are off: tests use them to stop a
// migration, a resharding or a range deletion there. The cluster's lock guards them.
type FailPoints struct {
	clock  *clock.Clock
	points map[string]*failPoint
}

// failPoint is a fail point; node is the node it applies to, empty for every node.
type failPoint struct {
	active      bool
	node        catalog.ShardID
	skip, times int64 // skip threads pass, then times threads wait; times < 0 is no limit
	entered     int64
	waiting     []func()
}

// FailPointMode is a fail point's mode.
type FailPointMode struct {
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

// failPointNames lists the fail points that there are.
func failPointNames() []string {
	names := []string{suspendRangeDeletion, pauseBeforeInitializing, pauseBeforeCloning, pauseInSteadyState,
		pauseBeforeBlockingWrites, pauseBeforeDecision}
	for n := 1; n <= 4; n++ {
		names = append(names, stepFailPoint(hangAtDonorStep, n), stepFailPoint(hangAtRecipientStep, n+2))
	}
	slices.Sort(names)
	return names
}

func stepFailPoint(name string, step int) string { return name + string(rune('0'+step)) }

func newFailPoints(k *clock.Clock) *FailPoints {
	ps := &FailPoints{clock: k, points: map[string]*failPoint{}}
	for _, name := range failPointNames() {
		ps.points[name] = &failPoint{}
	}
	return ps
}

// FailPoints returns those of the cluster.
func (c *Cluster) FailPoints() *FailPoints { return c.failPoints }

// Names lists the fail points in order.
func (ps *FailPoints) Names() []string { return failPointNames() }

// Configure sets a fail point on a node, or on all, and returns how often it was entered so far. Who
// waits goes on where it does not hold any more.
func (ps *FailPoints) Configure(name string, node catalog.ShardID, mode FailPointMode) int64 {
	p := ps.points[name]
	p.active, p.node, p.skip, p.times = mode.Active, node, mode.Skip, mode.Times
	if !p.active {
		p.release(ps.clock)
	}
	return p.entered
}

func (p *failPoint) release(k *clock.Clock) {
	for _, goOn := range p.waiting {
		k.After(0, goOn)
	}
	p.waiting = nil
}

// Await waits until a fail point was entered so many times.
func (ps *FailPoints) Await(ctx context.Context, deadline time.Time, name string, times int64) error {
	return ps.clock.Await(ctx, deadline, func() bool { return ps.points[name].entered >= times })
}

// hasWaiting reports whether a thread waits at a fail point: nothing can release it while virtual time stands
// still for all others.
func (ps *FailPoints) hasWaiting() bool {
	for _, p := range ps.points {
		if len(p.waiting) > 0 {
			return true
		}
	}
	return false
}

// reset turns all off and forgets who waits.
func (ps *FailPoints) reset() {
	for _, p := range ps.points {
		*p = failPoint{}
	}
}

// pass continues behind a fail point, now or when it is turned off.
func (ps *FailPoints) pass(name string, node catalog.ShardID, goOn func()) {
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
