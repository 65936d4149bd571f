package price

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// Options say what is asked.
type Options struct {
	// Goal is balance or the drain of a shard, for one collection.
	Goal plan.Goal
	// DiskLimit is the share of its volume that no shard may fill; 0 is DefaultDiskLimit.
	DiskLimit float64
	Seed      uint64
	// Watch is told how far simulations are, and may end them with an error; may be nil.
	Watch sim.Watch
}

// DefaultDiskLimit is the share of a volume that may be filled, unless it is set otherwise.
const DefaultDiskLimit = 0.9

// near is how much longer a way may take than the quickest one and be preferred for what it
// leaves open.
const near = 1.02

// Of compares the ways. It needs the routing table and the sizes of the collection, for the
// time of the balancer all tables, and says better what it can measure on the change log. For
// something that the cluster does not have the error is a *diagnosis.UnknownError.
func Of(s *catalog.Snapshot, o Options) (Quote, error) {
	o.Goal.Kind, o.DiskLimit = cmp.Or(o.Goal.Kind, plan.Balance), cmp.Or(o.DiskLimit, DefaultDiskLimit)
	q := Quote{Goal: o.Goal, At: s.Time(), DiskLimit: o.DiskLimit, Ways: []Way{}, Basis: []string{}}
	switch {
	case o.Goal.Kind != plan.Balance && o.Goal.Kind != plan.Drain:
		return q, fmt.Errorf("price: ways are compared to the goals balance and drain, not to %s", o.Goal.Kind)
	case len(o.Goal.Namespaces) != 1:
		return q, errors.New("price: ways are compared for one collection")
	case o.Goal.Kind == plan.Drain:
		if err := diagnosis.Check(s, diagnosis.Scope{Shard: o.Goal.Shard}); err != nil {
			return q, err
		}
	}
	c := s.Collection(o.Goal.Namespaces[0])
	if c == nil {
		return q, diagnosis.UnknownCollection(s, o.Goal.Namespaces[0])
	}
	if !c.Unsplittable && c.Table == nil {
		return q, fmt.Errorf("price: the snapshot has no chunks of %s", c.Namespace)
	}
	q.Namespace = c.Namespace
	o.Goal.Namespaces = []string{c.Namespace}
	p := &pricing{s: s, c: c, o: o, speeds: forecast.SpeedsOf(s)}
	q.Basis = append(q.Basis, p.speeds.Basis())
	var err error
	if q.Ways, err = p.ways(); err != nil {
		return q, err
	}
	q.Done = len(q.Ways) == 0
	q.Basis = append(q.Basis, p.notes...)
	q.recommend()
	return q, nil
}

// pricing computes the ways for one collection.
type pricing struct {
	s      *catalog.Snapshot
	c      *catalog.CollectionState
	o      Options
	speeds forecast.Speeds
	notes  []string
}

// ways returns them with those first that leave most open; none where nothing is to be done.
func (p *pricing) ways() ([]Way, error) {
	if p.c.Unsplittable {
		return p.moveCollection(), nil
	}
	moves, steps, err := p.moves(p.s)
	if err != nil {
		return nil, err
	}
	if len(steps) == 0 && moves.Refused == "" {
		return []Way{}, nil
	}
	list := []Way{moves}
	for _, way := range []func() (Way, bool, error){p.balancer, p.mergeFirst, p.defragmentFirst, p.reshard} {
		w, there, err := way()
		if err != nil {
			return nil, err
		}
		if there {
			list = append(list, w)
		}
	}
	if !slices.ContainsFunc(p.s.Shards(), func(shard catalog.ShardState) bool { return shard.Disk.Known() }) {
		p.notes = append(p.notes, "how full disks are is not known: no way was refused for that")
	}
	return list, nil
}

// counted is what a way counts as, in seconds: one that may take much longer than is likely
// has to be that much better.
func (w Way) counted() float64 {
	if w.Kind == DefragmentFirst || w.Kind == MergeFirst {
		return unequal(w.Moves) * w.Likely.Seconds()
	}
	return w.Likely.Seconds()
}

// recommend chooses the quickest way that can be taken.
func (q *Quote) recommend() {
	var open []Way
	for _, w := range q.Ways {
		if w.Refused == "" {
			open = append(open, w)
		}
	}
	switch {
	case q.Done:
		q.Reason = "nothing is left to do"
		return
	case len(open) == 0:
		q.Reason = "no way can be taken as things stand"
		return
	}
	least := slices.MinFunc(open, func(a, b Way) int { return cmp.Compare(a.counted(), b.counted()) })
	best := open[slices.IndexFunc(open, func(w Way) bool { return w.counted() <= near*least.counted() })]
	q.Recommended = best.Kind
	others := slices.DeleteFunc(slices.Clone(open), func(w Way) bool { return w.Kind == best.Kind })
	if len(others) == 0 {
		q.Reason = "it is the only way that can be taken"
		return
	}
	next := slices.MinFunc(others, func(a, b Way) int { return cmp.Compare(a.Likely, b.Likely) })
	q.Reason = fmt.Sprintf("it is the quickest: about %s, and %s takes about %s", about(best.Likely), next.Kind.Name(),
		about(next.Likely))
	if best.Kind != least.Kind {
		q.Reason = fmt.Sprintf("it takes as long as %s, about %s, and leaves more open", least.Kind.Name(),
			about(best.Likely))
	}
	if len(open) < len(q.Ways) {
		q.Reason += fmt.Sprintf("; %s can't be taken", humanize.Count(len(q.Ways)-len(open), "way"))
	}
}

func about(d time.Duration) string { return forecast.Text(d) }
