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

// input is the input of a plan: the initial cluster, changed so that the engine works towards the goal.
type input struct {
	goal  Goal
	start *catalog.Snapshot
	colls []*catalog.CollectionState // by namespace
	// reasons are the reasons for which chunks may move; nil means all.
	reasons []policy.Reason
}

func (sc *input) namespaces() []string {
	names := make([]string, len(sc.colls))
	for i, c := range sc.colls {
		names[i] = c.Namespace
	}
	return names
}

func newInput(s *catalog.Snapshot, o Options) (*input, error) {
	names, err := MatchNamespaces(s, o.Goal.Namespaces)
	if err != nil {
		return nil, err
	}
	sc := &input{goal: o.Goal, start: s}
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
	if err := sc.applyGoal(); err != nil {
		return nil, err
	}
	if o.IgnoreJumboFlags {
		if err := sc.clearJumboFlags(""); err != nil {
			return nil, err
		}
	}
	for _, c := range sc.start.Collections() {
		if !c.HasReadChunks() {
			return nil, fmt.Errorf("plan: the snapshot has no chunks of %s", c.Namespace)
		}
		// A collection that the user names is planned even if its balancing is disabled.
		if c.NoBalance && IsNamedInFull(o.Goal.Namespaces, c.Namespace) && o.Goal.Kind != Defragment {
			sc.changeCollection(c, func(c *catalog.CollectionState) { c.NoBalance = false })
		}
	}
	sc.colls = sc.start.Collections()
	return sc, nil
}

func (sc *input) changeCollection(c *catalog.CollectionState, change func(*catalog.CollectionState)) {
	next := *c
	change(&next)
	sc.start = sc.start.WithCollection(&next)
}

// applyGoal changes the cluster so that the engine works towards the goal.
func (sc *input) applyGoal() error {
	switch sc.goal.Kind {
	case Balance, Consolidate, Load:
		return nil
	case Presplit:
		if len(sc.goal.Namespaces) != 1 {
			return errOneCollection
		}
		return nil
	case Drain:
		shard, ok := sc.start.Shard(sc.goal.Shard)
		if !ok {
			return diagnosis.CheckScope(sc.start, diagnosis.Scope{Shard: sc.goal.Shard})
		}
		shard.Draining = true
		sc.start = sc.start.WithShard(shard)
		return sc.clearJumboFlags(sc.goal.Shard)
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
			sc.changeCollection(c, func(c *catalog.CollectionState) { c.Defragment = true })
		}
		return nil
	}
	return fmt.Errorf("plan: %w", unknownGoalError(sc.goal.Kind))
}

// clearJumboFlags clears the jumbo flags of chunks on a shard, or on all shards if shard is empty. The
// balancer skips flagged chunks. A plan lets the donor split them, since chunks that can be split are
// not moved by force.
func (sc *input) clearJumboFlags(shard catalog.ShardID) error {
	for _, c := range sc.start.Collections() {
		if c.Table == nil {
			continue
		}
		table, err := c.Table.WithoutJumboFlags(shard)
		if err != nil {
			return fmt.Errorf("plan: %s: %w", c.Namespace, err)
		}
		if table != c.Table {
			sc.changeCollection(c, func(c *catalog.CollectionState) { c.Table = table })
		}
	}
	return nil
}

// MatchNamespaces returns the sharded collections that match names. A name may have wildcards: shop.*
// and *.orders. The error is a *diagnosis.NotFoundError for a name without a match.
func MatchNamespaces(s *catalog.Snapshot, patterns []string) (names []string, err error) {
	for _, c := range s.Collections() {
		if !c.Unsplittable && (len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
			return matchesNamespace(p, c.Namespace)
		})) {
			names = append(names, c.Namespace)
		}
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil && strings.ContainsAny(p, wildcards) {
			return nil, fmt.Errorf("plan: %q is not a valid pattern of collections: %w", p, err)
		}
		if !slices.ContainsFunc(names, func(ns string) bool { return matchesNamespace(p, ns) }) {
			return nil, diagnosis.NewCollectionNotFound(s, p)
		}
	}
	return names, nil
}

const wildcards = "*?["

// matchesNamespace reports whether a pattern matches a collection by its name in the catalog or, for
// the buckets of a time series, by the name of the time series.
func matchesNamespace(pattern, ns string) bool {
	for _, name := range []string{ns, catalog.TimeSeriesNamespace(ns)} {
		if ok, err := path.Match(pattern, name); pattern == name || err == nil && ok {
			return true
		}
	}
	return false
}

// IsNamedInFull reports whether a collection is in names by its full name, and not only by a wildcard.
func IsNamedInFull(names []string, ns string) bool {
	return slices.Contains(names, ns) || slices.Contains(names, catalog.TimeSeriesNamespace(ns))
}
