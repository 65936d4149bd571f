package forecast

import (
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

// Options say what is asked.
type Options struct {
	// Goal is what the time is asked for; the zero value is balance. Consolidating
	// is nothing that a balancer does, and has no forecast.
	Goal plan.Goal
	// Location is the time zone of the balancer's windows, which may have summer
	// time; nil takes the offset that the config servers' logs show.
	Location *time.Location
	// Seed is that of the models of what is not known. Equal seeds give equal
	// forecasts.
	Seed uint64
}

// check refuses what a forecast can't be made of.
func (o Options) check(s *catalog.Snapshot) error {
	switch kind := o.Goal.Kind; {
	case !slices.Contains([]plan.GoalKind{plan.Balance, plan.Drain, plan.Zones, plan.Defragment}, kind):
		return fmt.Errorf("forecast: there is none for the goal %q: it is balance, drain, zones or defragment", kind)
	case kind == plan.Drain && o.Goal.Shard == "":
		return fmt.Errorf("forecast: the goal drain needs a shard")
	case kind == plan.Defragment && !s.Release().Defragments():
		return fmt.Errorf("forecast: servers of release %s do not defragment", s.Release())
	}
	if o.Goal.Kind == plan.Drain {
		if _, there := s.Shard(o.Goal.Shard); !there {
			return fmt.Errorf("forecast: the cluster has no shard %q", o.Goal.Shard)
		}
	}
	for _, ns := range o.Goal.Namespaces {
		if c := s.Collection(ns); c == nil || c.Unsplittable {
			return fmt.Errorf("forecast: %s is no sharded collection of this cluster", ns)
		}
	}
	for _, c := range diagnosis.Sharded(s) {
		if c.Table == nil {
			return fmt.Errorf("forecast: the chunks of %s were not read", c.Namespace)
		}
	}
	return nil
}

// prepare returns the cluster as the goal wants it to be set up: the shard drains,
// the collections are to be defragmented.
func (o Options) prepare(s *catalog.Snapshot) (prepared *catalog.Snapshot, changed []string) {
	switch o.Goal.Kind {
	case plan.Drain:
		shard, _ := s.Shard(o.Goal.Shard)
		if !shard.Draining {
			shard.Draining = true
			return s.WithShard(shard), []string{fmt.Sprintf("as if the draining of %s began now", shard.ID)}
		}
	case plan.Defragment:
		under := slices.ContainsFunc(diagnosis.Sharded(s), func(c *catalog.CollectionState) bool {
			return o.asksFor(c) && c.Defragment
		})
		if under && len(o.Goal.Namespaces) == 0 {
			return s, nil
		}
		for _, c := range diagnosis.Sharded(s) {
			if o.asksFor(c) && !c.Defragment {
				next := *c
				next.Defragment = true
				s = s.WithCollection(&next)
				changed = append(changed, fmt.Sprintf("as if the defragmentation of %s began now", c.Namespace))
			}
		}
	}
	return s, changed
}

func (o Options) asksFor(c *catalog.CollectionState) bool {
	return len(o.Goal.Namespaces) == 0 || slices.Contains(o.Goal.Namespaces, c.Namespace)
}
