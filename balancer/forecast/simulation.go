package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

// simulation is the outcome of a simulation that ignores balancer windows.
type simulation struct {
	// movePeriods holds the periods in which chunks moved, sorted and without overlaps.
	movePeriods []period
	// doneAt is when the goal was reached, or when the last step towards it ended.
	doneAt     time.Time
	reached    bool
	moves      int
	bytes      int64
	failed     int
	chunksLeft int // chunks left on a draining shard
	end        *catalog.Snapshot
	// linkTimes is the total duration of the moves between two shards.
	linkTimes map[[2]catalog.ShardID]time.Duration
}

// neededNoWork reports whether the goal needed no work.
func (c simulation) neededNoWork(start time.Time) bool { return c.moves == 0 && !c.doneAt.After(start) }

// workingTime returns how long chunks moved.
func (c simulation) workingTime() (sum time.Duration) {
	for _, s := range c.movePeriods {
		if !s.began.After(c.doneAt) {
			sum += s.ended.Sub(s.began)
		}
	}
	return sum
}

// longestGap returns the longest time without moves before the simulation was done.
func (c simulation) longestGap(start time.Time) (longest time.Duration) {
	last := start
	for _, s := range c.movePeriods {
		if s.began.After(c.doneAt) {
			break
		}
		longest = max(longest, s.began.Sub(last))
		last = s.ended
	}
	return longest
}

// unmeasuredShare returns the share of move time on links without measured migrations, weighted by
// unknownShare.
func (c simulation) unmeasuredShare(l links) float64 {
	var unused, all float64
	for _, pair := range sortedPairs(c.linkTimes) {
		took := c.linkTimes[pair]
		all += took.Seconds()
		unused += took.Seconds() * l.unknownShare(pair[0], pair[1])
	}
	return unused / math.Max(1, all)
}

// period is a period in which chunks moved.
type period struct{ began, ended time.Time }

// maxSimulated limits the simulated time, and maxIdle the simulated time without progress.
const (
	maxSimulated = 10 * 365 * 24 * time.Hour
	maxIdle      = 6 * time.Hour
)

// simulate runs the balancer to a goal.
func simulate(s *catalog.Snapshot, goal plan.Goal, cfg sim.Config) (simulation, error) {
	r, err := sim.New(s, cfg)
	if err != nil {
		return simulation{}, err
	}
	defer r.Close()
	c := simulation{doneAt: s.Time(), linkTimes: map[[2]catalog.ShardID]time.Duration{}}
	last := s.Time()
	check := func(e sim.Event) bool { return c.addEvent(r, goal, e) }
	events := r.EventsToRest(s.Time().Add(maxSimulated))
	if goal.Kind == plan.Drain && r.ChunkCount(goal.Shard, goal.Namespaces...) == 0 {
		c.reached = true
	}
	if !c.reached {
		for e := range events {
			if e.Kind != sim.MoveFailed {
				last = e.Ended
			}
			if check(e) || e.Ended.Sub(last) > maxIdle {
				break
			}
		}
	}
	if err := r.Err(); err != nil {
		return simulation{}, err
	}
	if goal.Kind == plan.Drain {
		c.chunksLeft = r.ChunkCount(goal.Shard, goal.Namespaces...)
	}
	c.end = r.Snapshot()
	c.joinPeriods()
	return c, nil
}

// addEvent records an event, and reports whether the goal is reached.
func (c *simulation) addEvent(r *sim.Run, goal plan.Goal, e sim.Event) bool {
	switch e.Kind {
	case sim.MoveFailed:
		c.failed++
		c.movePeriods = append(c.movePeriods, period{e.Began, e.Ended})
		return false
	case sim.Moved, sim.Merged, sim.Defragmented:
		c.movePeriods = append(c.movePeriods, period{e.Began, e.Ended})
	}
	if e.Kind == sim.Moved {
		c.linkTimes[[2]catalog.ShardID{e.From, e.To}] += e.Ended.Sub(e.Began)
	}
	if !servesGoal(goal, e) {
		return false
	}
	c.doneAt = e.Ended
	if e.Kind == sim.Moved {
		c.moves++
		c.bytes += e.Bytes
	}
	switch goal.Kind {
	case plan.Drain:
		c.reached = r.ChunkCount(goal.Shard, goal.Namespaces...) == 0
	case plan.Defragment:
		c.reached = !r.IsDefragmenting(goal.Namespaces...)
	}
	return c.reached
}

// servesGoal reports whether an event is progress towards a goal. Merges of the auto-merger are not.
func servesGoal(goal plan.Goal, e sim.Event) bool {
	if len(goal.Namespaces) > 0 && !slices.Contains(goal.Namespaces, e.Namespace) {
		return false
	}
	switch goal.Kind {
	case plan.Drain:
		return e.Kind == sim.Moved && e.From == goal.Shard
	case plan.Zones:
		return e.Kind == sim.Moved && e.Reason == policy.ReasonZoneViolation
	case plan.Defragment:
		return e.Kind == sim.Defragmented || e.Kind == sim.Moved && e.Reason == policy.ReasonDefragmentation
	}
	return e.Kind == sim.Moved || e.Kind == sim.Defragmented
}

// joinPeriods joins overlapping spans.
func (c *simulation) joinPeriods() {
	slices.SortFunc(c.movePeriods, func(a, b period) int {
		return cmp.Or(a.began.Compare(b.began), a.ended.Compare(b.ended))
	})
	joined := c.movePeriods[:0]
	for _, s := range c.movePeriods {
		if n := len(joined); n > 0 && !s.began.After(joined[n-1].ended) {
			if s.ended.After(joined[n-1].ended) {
				joined[n-1].ended = s.ended
			}
			continue
		}
		joined = append(joined, s)
	}
	c.movePeriods = joined
}

// balancerWindow says when the balancer works.
type balancerWindow struct {
	settings catalog.Settings
	clock    catalog.BalancerClock
	// locations are the candidates for the time zone of the window, in order. The first and the last
	// are equal when the zone is known.
	locations []*time.Location
}

// duration returns how long the simulation takes if every move takes factor times as long, and rounds
// begin only while the window is open in the time zone in. Pauses are not scaled. It reports false when
// the window never opens.
func (k balancerWindow) duration(c simulation, start time.Time, in *time.Location,
	factor float64) (time.Duration, bool) {
	at, last := start, start
	for _, s := range c.movePeriods {
		if s.began.After(c.doneAt) {
			break
		}
		opens, ok := k.settings.NextOpen(at.Add(s.began.Sub(last)).In(in))
		if !ok {
			return 0, false
		}
		ended := s.ended
		if c.doneAt.Before(ended) {
			ended = c.doneAt
		}
		spent := time.Duration(math.Round(float64(ended.Sub(s.began)) * factor))
		at = opens.Add(spent)
		last = s.ended
	}
	return at.Sub(start), true
}
