package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/policy"
)

// scope is what a plan is about: the cluster as it begins, changed so that the
// engine goes to the goal.
type scope struct {
	goal  Goal
	start *catalog.Snapshot
	colls []*catalog.CollectionState // by namespace
	// reasons are what chunks may move for; nil means all.
	reasons []policy.Reason
}

func (sc *scope) names() []string {
	names := make([]string, len(sc.colls))
	for i, c := range sc.colls {
		names[i] = c.Namespace
	}
	return names
}

func newScope(s *catalog.Snapshot, o Options) (*scope, error) {
	names, err := Namespaces(s, o.Goal.Namespaces)
	if err != nil {
		return nil, err
	}
	sc := &scope{goal: o.Goal, start: s}
	if o.IgnoreWindow {
		settings := s.Settings()
		settings.Window, settings.Days = nil, nil
		sc.start = s.WithSettings(settings)
	}
	for _, c := range s.Collections() {
		if c.Unsplittable || !slices.Contains(names, c.Namespace) {
			sc.start = sc.start.WithoutCollection(c.Namespace)
		}
	}
	if err := sc.aim(); err != nil {
		return nil, err
	}
	if o.Unflag {
		if err := sc.unflag(""); err != nil {
			return nil, err
		}
	}
	for _, c := range sc.start.Collections() {
		if !c.HasReadChunks() {
			return nil, fmt.Errorf("plan: the snapshot has no chunks of %s", c.Namespace)
		}
		// Whoever names a collection wants it planned, switched off or not.
		if c.NoBalance && Named(o.Goal.Namespaces, c.Namespace) && o.Goal.Kind != Defragment {
			sc.change(c, func(c *catalog.CollectionState) { c.NoBalance = false })
		}
	}
	sc.colls = sc.start.Collections()
	return sc, nil
}

func (sc *scope) change(c *catalog.CollectionState, do func(*catalog.CollectionState)) {
	next := *c
	do(&next)
	sc.start = sc.start.WithCollection(&next)
}

// aim changes the cluster so that the engine goes to the goal.
func (sc *scope) aim() error {
	switch sc.goal.Kind {
	case Balance, Consolidate, Load:
		return nil
	case Presplit:
		if len(sc.goal.Namespaces) != 1 {
			return errOneCollection
		}
		return nil
	case Drain:
		shard, there := sc.start.Shard(sc.goal.Shard)
		if !there {
			return diagnosis.Check(sc.start, diagnosis.Scope{Shard: sc.goal.Shard})
		}
		shard.Draining = true
		sc.start = sc.start.WithShard(shard)
		return sc.unflag(sc.goal.Shard)
	case Zones:
		sc.reasons = []policy.Reason{policy.ReasonZoneViolation}
		settings := sc.start.Settings()
		settings.AutoMerge = false
		sc.start = sc.start.WithSettings(settings)
		return nil
	case Defragment:
		sc.reasons = []policy.Reason{}
		settings := sc.start.Settings()
		settings.AutoMerge = false
		sc.start = sc.start.WithSettings(settings)
		for _, c := range sc.start.Collections() {
			sc.change(c, func(c *catalog.CollectionState) { c.Defragment = true })
		}
		return nil
	}
	return fmt.Errorf("plan: %w", unknownGoal(sc.goal.Kind))
}

// unflag takes the flags off jumbo chunks of a shard, or of all of them if it is empty. The
// balancer leaves them; a plan does not: it has the donor cut them, as nothing is moved by
// force that can be.
func (sc *scope) unflag(on catalog.ShardID) error {
	for _, c := range sc.start.Collections() {
		if c.Table == nil {
			continue
		}
		table, err := c.Table.WithoutJumboFlags(on)
		if err != nil {
			return fmt.Errorf("plan: %s: %w", c.Namespace, err)
		}
		if table != c.Table {
			sc.change(c, func(c *catalog.CollectionState) { c.Table = table })
		}
	}
	return nil
}

// Namespaces returns the sharded collections that are named. A name may have
// wildcards: shop.* and *.orders. The error is a *diagnosis.UnknownError for a name that
// none has.
func Namespaces(s *catalog.Snapshot, patterns []string) (names []string, err error) {
	for _, c := range s.Collections() {
		if !c.Unsplittable && (len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
			return matches(p, c.Namespace)
		})) {
			names = append(names, c.Namespace)
		}
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil && strings.ContainsAny(p, wildcards) {
			return nil, fmt.Errorf("plan: %q is not a valid pattern of collections: %w", p, err)
		}
		if !slices.ContainsFunc(names, func(ns string) bool { return matches(p, ns) }) {
			return nil, diagnosis.UnknownCollection(s, p)
		}
	}
	return names, nil
}

const wildcards = "*?["

// matches reports whether a pattern is of a collection: by its name in the catalog, or, of
// the buckets of a time series, by the name that users know.
func matches(pattern, ns string) bool {
	for _, name := range []string{ns, catalog.TimeSeriesNamespace(ns)} {
		if ok, err := path.Match(pattern, name); pattern == name || err == nil && ok {
			return true
		}
	}
	return false
}

// Named reports whether a collection is among names or patterns by its name, and not
// only by a wildcard.
func Named(names []string, ns string) bool {
	return slices.Contains(names, ns) || slices.Contains(names, catalog.TimeSeriesNamespace(ns))
}
