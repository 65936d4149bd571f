package price

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// Options are the options of a comparison.
type Options struct {
	// Goal is to balance one collection, or to drain it from a shard.
	Goal plan.Goal
	// DiskLimit is the share of its volume up to which a shard may be filled; 0 stands for
	// DefaultDiskLimit.
	DiskLimit float64
	Seed      uint64
	// OnProgress receives the progress of simulations, and may end them with an error. It may be nil.
	OnProgress sim.ProgressFunc
}

// DefaultDiskLimit is the default share up to which a volume may be filled.
const DefaultDiskLimit = 0.9

// preferredFactor is how much longer than the quickest way a way may take and still be preferred
// because it keeps more options open.
const preferredFactor = 1.02

// Compare compares the ways. It needs the routing table and the sizes of the collection. For the time
// of the balancer it needs all routing tables. The result is more exact with rates measured from the
// change log. If the cluster does not have an object, the error is a *diagnosis.NotFoundError.
func Compare(s *catalog.Snapshot, o Options) (Comparison, error) {
	o.Goal.Kind, o.DiskLimit = cmp.Or(o.Goal.Kind, plan.Balance), cmp.Or(o.DiskLimit, DefaultDiskLimit)
	q := Comparison{Goal: o.Goal, At: s.Time(), DiskLimit: o.DiskLimit, Ways: []Way{}, Basis: []string{}}
	switch {
	case o.Goal.Kind != plan.Balance && o.Goal.Kind != plan.Drain:
		return q, fmt.Errorf("price: ways are compared to the goals balance and drain, not to %s", o.Goal.Kind)
	case len(o.Goal.Namespaces) != 1:
		return q, errors.New("price: ways are compared for one collection")
	case o.Goal.Kind == plan.Drain:
		if err := diagnosis.CheckScope(s, diagnosis.Scope{Shard: o.Goal.Shard}); err != nil {
			return q, err
		}
	}
	c := s.Collection(o.Goal.Namespaces[0])
	if c == nil {
		return q, diagnosis.NewCollectionNotFound(s, o.Goal.Namespaces[0])
	}
	if !c.Unsplittable && c.Table == nil {
		return q, fmt.Errorf("price: the snapshot has no chunks of %s", c.Namespace)
	}
	q.Namespace = c.Namespace
	o.Goal.Namespaces = []string{c.Namespace}
	p := &comparer{snapshot: s, coll: c, options: o, speeds: forecast.MeasureSpeeds(s)}
	q.Basis = append(q.Basis, p.speeds.Basis())
	var err error
	if q.Ways, err = p.listWays(); err != nil {
		return q, err
	}
	q.Done = len(q.Ways) == 0
	q.Basis = append(q.Basis, p.notes...)
	q.recommend()
	return q, nil
}

// comparer computes the ways for one collection.
type comparer struct {
	snapshot *catalog.Snapshot
	coll     *catalog.CollectionState
	options  Options
	speeds   forecast.Speeds
	notes    []string
}

// listWays returns the ways; those that keep most options open come first. It returns none where
// nothing is to be done.
func (p *comparer) listWays() ([]Way, error) {
	if p.coll.Unsplittable {
		return p.moveCollectionWays(), nil
	}
	moves, steps, err := p.movesWay(p.snapshot)
	if err != nil {
		return nil, err
	}
	if len(steps) == 0 && moves.Refused == "" {
		return []Way{}, nil
	}
	list := []Way{moves}
	for _, way := range []func() (Way, bool, error){p.balancerWay, p.mergeFirstWay, p.defragmentFirstWay, p.reshardWay} {
		w, there, err := way()
		if err != nil {
			return nil, err
		}
		if there {
			list = append(list, w)
		}
	}
	if !slices.ContainsFunc(p.snapshot.Shards(), func(shard catalog.ShardState) bool { return shard.Disk.Known() }) {
		p.notes = append(p.notes, "how full disks are is unknown: no way was refused because of disks")
	}
	return list, nil
}

// weightedSeconds returns the weight of a way in seconds. A way that may take much longer than its
// likely time has a higher weight.
func (w Way) weightedSeconds() float64 {
	if w.Kind == DefragmentFirst || w.Kind == MergeFirst {
		return mergedFactor(w.Moves) * w.Likely.Seconds()
	}
	return w.Likely.Seconds()
}

// recommend chooses the quickest possible way.
func (c *Comparison) recommend() {
	var open []Way
	for _, w := range c.Ways {
		if w.Refused == "" {
			open = append(open, w)
		}
	}
	switch {
	case c.Done:
		c.Reason = "nothing is left to do"
		return
	case len(open) == 0:
		c.Reason = "no way is possible as things stand"
		return
	}
	least := slices.MinFunc(open, func(a, b Way) int { return cmp.Compare(a.weightedSeconds(), b.weightedSeconds()) })
	best := open[slices.IndexFunc(open, func(w Way) bool {
		return w.weightedSeconds() <= preferredFactor*least.weightedSeconds()
	})]
	c.Recommended = best.Kind
	others := slices.DeleteFunc(slices.Clone(open), func(w Way) bool { return w.Kind == best.Kind })
	if len(others) == 0 {
		c.Reason = "it is the only way that can be taken"
		return
	}
	next := slices.MinFunc(others, func(a, b Way) int { return cmp.Compare(a.Likely, b.Likely) })
	c.Reason = fmt.Sprintf("it is the quickest: about %s, and %s takes about %s", forecast.DurationText(best.Likely),
		next.Kind.Name(), forecast.DurationText(next.Likely))
	if next.Likely < best.Likely {
		c.Reason = fmt.Sprintf("its time, about %s, is more certain than that of %s, about %s",
			forecast.DurationText(best.Likely), next.Kind.Name(), forecast.DurationText(next.Likely))
	}
	if best.Kind != least.Kind {
		c.Reason = fmt.Sprintf("it takes as long as %s, about %s, and leaves more open", least.Kind.Name(),
			forecast.DurationText(best.Likely))
	}
	if len(open) < len(c.Ways) {
		c.Reason += fmt.Sprintf("; %s can't be taken", humanize.Count(len(c.Ways)-len(open), "way"))
	}
}
