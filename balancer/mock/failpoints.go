package mock

import (
	"context"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
)

// FailPoints are the servers' fail points at which a thread waits until the fail point is off. Tests use
// them to stop a migration, a resharding or a range deletion. The cluster's lock guards them.
type FailPoints struct {
	clock  *clock.Clock
	points map[string]*failPoint
}

// failPoint is a fail point. node is the node to which it applies, empty for all nodes.
type failPoint struct {
	active      bool
	node        catalog.ShardID
	skip, times int64 // skip entries pass, then times entries wait; negative times means no limit
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
	// Prefixes; the number of the step follows. There are no fail points after the donor's fourth step,
	// because the commit takes no time in the mock, and none in the recipient's first two steps.
	hangAtDonorStep     = "moveChunkHangAtStep"
	hangAtRecipientStep = "migrateThreadHangAtStep"
)

// failPointNames returns the names of all fail points.
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

// FailPoints returns the fail points of the cluster.
func (c *Cluster) FailPoints() *FailPoints { return c.failPoints }

// Names returns the names of all fail points.
func (ps *FailPoints) Names() []string { return failPointNames() }

// Configure sets the mode of a fail point on a node, or on all nodes, and returns how often it was
// entered so far. If the mode is off, the waiting threads continue.
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

// Await waits until a fail point was entered the given number of times.
func (ps *FailPoints) Await(ctx context.Context, deadline time.Time, name string, times int64) error {
	return ps.clock.Await(ctx, deadline, func() bool { return ps.points[name].entered >= times })
}

// hasWaiting reports whether a thread waits at a fail point. While virtual time stands still for other
// commands, nothing can release it.
func (ps *FailPoints) hasWaiting() bool {
	for _, p := range ps.points {
		if len(p.waiting) > 0 {
			return true
		}
	}
	return false
}

// reset turns all fail points off and drops the waiting threads.
func (ps *FailPoints) reset() {
	for _, p := range ps.points {
		*p = failPoint{}
	}
}

// pass calls goOn, at once or after the fail point is turned off.
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
		if p.times--; p.times == 0 { // the last entry turns the fail point off
			p.active = false
			p.release(ps.clock)
		}
	}
}
