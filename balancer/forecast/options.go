package forecast

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/heat"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// Options are the options of a forecast.
type Options struct {
	// Goal is the goal of the forecast; the zero value is balance. Consolidation has no forecast,
	// because no balancer does it.
	Goal plan.Goal
	// HeatMaps show the distribution of the load, which the load goal needs.
	HeatMaps []heat.Map
	// Seed seeds the models of unknown data. Equal seeds give equal forecasts.
	Seed uint64
	// OnProgress receives the progress of simulations, and may end the forecast with an error. It may be
	// nil.
	OnProgress sim.ProgressFunc
}

// check validates the options, and returns them with the selected collections. If the cluster does not
// have an object, the error is a *diagnosis.NotFoundError.
func (o Options) check(s *catalog.Snapshot) (Options, error) {
	switch kind := o.Goal.Kind; {
	case !slices.Contains([]plan.GoalKind{plan.Balance, plan.Drain, plan.Zones, plan.Defragment, plan.Load}, kind):
		return o, fmt.Errorf("forecast: not possible for the goal %q: use balance, drain, zones, defragment or load",
			kind)
	case kind == plan.Drain && o.Goal.Shard == "":
		return o, errors.New("forecast: the goal drain needs a shard")
	case kind == plan.Defragment && !s.Release().Defragments():
		return o, fmt.Errorf("forecast: servers of release %s do not defragment", s.Release())
	case kind == plan.Drain:
		if err := diagnosis.CheckScope(s, diagnosis.Scope{Shard: o.Goal.Shard}); err != nil {
			return o, err
		}
	}
	for _, ns := range o.Goal.Namespaces {
		if strings.ContainsAny(ns, "*?[") {
			continue
		}
		if err := diagnosis.CheckScope(s, diagnosis.Scope{Namespace: ns}); err != nil {
			return o, err
		}
	}
	if len(o.Goal.Namespaces) > 0 {
		names, err := plan.MatchNamespaces(s, o.Goal.Namespaces)
		if err != nil {
			return o, err
		}
		o.Goal.Namespaces = names
	}
	for _, c := range diagnosis.Sharded(s) {
		if !c.HasReadChunks() {
			return o, fmt.Errorf("forecast: the chunks of %s were not read", c.Namespace)
		}
	}
	return o, nil
}

// prepare returns the cluster as the goal requires it: the shard drains, the collections are to be
// defragmented.
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
			return o.includes(c) && c.Defragment
		})
		if under && len(o.Goal.Namespaces) == 0 {
			return s, nil
		}
		for _, c := range diagnosis.Sharded(s) {
			if o.includes(c) && !c.Defragment {
				next := *c
				next.Defragment = true
				s = s.WithCollection(&next)
				changed = append(changed, fmt.Sprintf("as if the defragmentation of %s began now", c.Namespace))
			}
		}
	}
	return s, changed
}

func (o Options) includes(c *catalog.CollectionState) bool {
	return len(o.Goal.Namespaces) == 0 || slices.Contains(o.Goal.Namespaces, c.Namespace)
}
