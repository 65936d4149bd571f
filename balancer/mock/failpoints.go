package mock

import (
	"context"
	"maps"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
)

// FailPoints are the servers' fail points at which a thread waits until the fail point is off. Tests use
// them to stop a migration, a resharding or a range deletion. The cluster's lock guards them.
type FailPoints struct {
	clock  *clock.Clock
	ids    *ids.Source
	points map[string]*failPoint
}

// failPoint is a fail point: each node has its own state. A node that was not asked for yet has the mode
// that a router gave to all.
type failPoint struct {
	everywhere FailPointMode
	nodes      map[catalog.ShardID]*nodeFailPoint
}

// nodeFailPoint is a fail point of a node.
type nodeFailPoint struct {
	mode    FailPointMode
	entered int64
	waiting []func() // until the mode changes
}

// FailPointMode is a fail point's mode: it lets Skip threads pass; the next ones wait. With Times > 0 the
// fail point turns itself off after that many checks; with a Probability above 0 a check finds it on with
// that probability. A waiting thread checks every 100 ms.
type FailPointMode struct {
	Active      bool
	Skip, Times int64
	Probability float64
}

// failPointPoll is how often a server's thread looks whether a fail point still stops it.
const failPointPoll = 100 * time.Millisecond

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

// FailPointNames returns the names of all fail points.
func FailPointNames() []string {
	names := []string{suspendRangeDeletion, pauseBeforeInitializing, pauseBeforeCloning, pauseInSteadyState,
		pauseBeforeBlockingWrites, pauseBeforeDecision}
	for n := 1; n <= 4; n++ {
		names = append(names, stepFailPoint(hangAtDonorStep, n), stepFailPoint(hangAtRecipientStep, n+2))
	}
	slices.Sort(names)
	return names
}

func stepFailPoint(name string, step int) string { return name + string(rune('0'+step)) }

func newFailPoints(k *clock.Clock, i *ids.Source) *FailPoints {
	ps := &FailPoints{clock: k, ids: i}
	ps.reset()
	return ps
}

// FailPoints returns the fail points of the cluster.
func (c *Cluster) FailPoints() *FailPoints { return c.failPoints }

// Configure sets a fail point on a node, or on all, and returns how often it was entered there so far.
// Waiting threads that it no longer stops continue.
func (f *FailPoints) Configure(name string, node catalog.ShardID, mode FailPointMode) int64 {
	p := f.points[name]
	if node != "" {
		p.at(node)
	} else {
		p.everywhere = mode
	}
	for _, id := range slices.Sorted(maps.Keys(p.nodes)) {
		if n := p.nodes[id]; node == "" || node == id {
			n.mode = mode
			for _, look := range n.waiting {
				f.clock.After(0, look)
			}
			n.waiting = nil
		}
	}
	return p.enteredAt(node)
}

func (p *failPoint) at(node catalog.ShardID) *nodeFailPoint {
	if p.nodes[node] == nil {
		p.nodes[node] = &nodeFailPoint{mode: p.everywhere}
	}
	return p.nodes[node]
}

// enteredAt returns how often a fail point was entered on a node, or on all.
func (p *failPoint) enteredAt(node catalog.ShardID) (times int64) {
	for id, n := range p.nodes {
		if node == "" || node == id {
			times += n.entered
		}
	}
	return times
}

// Await waits until a fail point was entered so many times on a node, or on all.
func (f *FailPoints) Await(
	ctx context.Context, deadline time.Time, name string, node catalog.ShardID, times int64,
) error {
	return f.clock.Await(ctx, deadline, func() bool { return f.points[name].enteredAt(node) >= times })
}

// hasWaiting reports whether a thread waits at a fail point. While virtual time stands still for other
// commands, nothing can release it.
func (f *FailPoints) hasWaiting() bool {
	for _, p := range f.points {
		for _, n := range p.nodes {
			if len(n.waiting) > 0 {
				return true
			}
		}
	}
	return false
}

// reset turns all fail points off and drops the waiting threads.
func (f *FailPoints) reset() {
	f.points = map[string]*failPoint{}
	for _, name := range FailPointNames() {
		f.points[name] = &failPoint{nodes: map[catalog.ShardID]*nodeFailPoint{}}
	}
}

// pass calls goOn, now or when the fail point no longer stops it.
func (f *FailPoints) pass(name string, node catalog.ShardID, goOn func()) {
	n := f.points[name].at(node)
	if !f.shouldFail(n) {
		goOn()
		return
	}
	n.entered++
	f.scheduleCheck(n, goOn)
}

func (f *FailPoints) shouldFail(n *nodeFailPoint) bool { return n.mode.ShouldFail(f.ids.Chance) }

// ShouldFail checks the fail point, and reports whether it is on. Each check counts toward Skip and Times. chance
// returns true with a probability.
func (m *FailPointMode) ShouldFail(chance func(probability float64) bool) bool {
	switch {
	case !m.Active:
		return false
	case m.Skip > 0:
		m.Skip--
		return false
	case m.Probability > 0:
		return chance(m.Probability)
	case m.Times > 0:
		m.Times--
		m.Active = m.Times > 0
	}
	return true
}

// scheduleCheck checks again after failPointPoll, or only when the mode changes if it is on without a limit.
func (f *FailPoints) scheduleCheck(n *nodeFailPoint, goOn func()) {
	look := func() {
		if !f.shouldFail(n) {
			goOn()
			return
		}
		f.scheduleCheck(n, goOn)
	}
	if n.mode.Active && n.mode.Times <= 0 && n.mode.Probability == 0 {
		n.waiting = append(n.waiting, look)
		return
	}
	f.clock.After(failPointPoll, look)
}
