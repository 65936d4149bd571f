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

// Options say what is asked.
type Options struct {
	// Goal is the goal of the forecast; the zero value is balance. Consolidating
	// is nothing that a balancer does, and has no forecast.
	Goal plan.Goal
	// Maps are where the load goes, which the goal load needs.
	Maps []heat.Map
	// Seed is that of the models of what is not known. Equal seeds give equal
	// forecasts.
	Seed uint64
	// Watch is told how far simulations are, and may end the forecast with an error;
	// nil is nobody.
	Watch sim.Watch
}

// check refuses what a forecast can't be made of, and returns the options with the
// collections that are meant. For something that the cluster does not have the
// error is a *diagnosis.NotFoundError.
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
