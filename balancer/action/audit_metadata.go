package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/placement"
)

// auditMetadata compares the shards' metadata with the config database, repeatedly until two
// consecutive reads agree.
func (a *auditRun) auditMetadata(ctx context.Context) error {
	before, err := a.compare(ctx)
	if err != nil {
		return err
	}
	if err := a.checkNamespacesExist(ctx); err != nil {
		return err
	}
	confirmed := map[string]bool{}
	for attempt := 0; attempt < a.MaxRereads && len(before) > len(confirmed); attempt++ {
		if err := a.cluster.Clock.Sleep(ctx, a.RereadPause); err != nil {
			return err
		}
		now, err := a.compare(ctx)
		if err != nil {
			return err
		}
		confirmed = map[string]bool{}
		for _, f := range now {
			if slices.ContainsFunc(before, func(o placement.Finding) bool { return findingKey(o) == findingKey(f) }) {
				confirmed[findingKey(f)] = true
			}
		}
		before = now
	}
	for _, f := range before {
		if confirmed[findingKey(f)] {
			a.addFindings(f)
		} else {
			a.addUnsettled("%s: %s", f.Namespace, f.Text)
		}
	}
	for _, ns := range a.resharding {
		a.addUnchecked("%s, which is being resharded or moved", ns)
	}
	return a.addInconsistencies(ctx)
}

// checkNamespacesExist returns an error if a collection or database to audit does not exist.
func (a *auditRun) checkNamespacesExist(ctx context.Context) error {
	for _, ns := range a.Namespaces {
		database, name, dotted := strings.Cut(ns, ".")
		_, known := a.config.Primaries[database]
		if dotted && known && !slices.ContainsFunc(a.colls, func(c *placement.Collection) bool { return c.Namespace == ns }) {
			list, err := live.NewCommandRunner(a.cluster.Client).RunCursorCommand(ctx, database, bson.D{
				{Key: "listCollections", Value: int32(1)}, {Key: "filter", Value: bson.D{{Key: "name", Value: name}}},
			})
			if err != nil {
				return live.ServerError(err)
			}
			known = len(list) > 0
		}
		if !known {
			return mongoerr.New(mongoerr.NamespaceNotFound, "%s does not exist", ns)
		}
	}
	return nil
}

// findingKey identifies a finding in repeated reads. The number of documents of a finding may change.
func findingKey(f placement.Finding) string {
	if f.Kind == placement.CollectionMisplaced {
		return fmt.Sprint(f.Kind, f.Namespace, f.Shards)
	}
	return fmt.Sprint(f.Kind, f.Namespace, f.Shards, f.Text)
}

// compare reads all metadata, again after a failed read, and returns the findings.
func (a *auditRun) compare(ctx context.Context) ([]placement.Finding, error) {
	return retryRead(ctx, a.readRetry, func() ([]placement.Finding, error) { return a.compareOnce(ctx) })
}

func (a *auditRun) compareOnce(ctx context.Context) (found []placement.Finding, err error) {
	if a.config, err = a.shards.ReadConfig(ctx); err != nil {
		return nil, err
	}
	colls, err := a.readHoldings(ctx)
	if err != nil {
		return nil, err
	}
	a.colls, a.resharding = nil, nil
	for _, ns := range slices.Sorted(maps.Keys(colls)) {
		c := colls[ns]
		if c.Resharding { // its chunks and documents are being replaced
			if !strings.Contains(ns, ".system.resharding.") { // the temporary collection is part of it
				a.resharding = append(a.resharding, ns)
			}
			continue
		}
		list, err := a.compareCollection(ctx, c)
		switch {
		case mongoerr.Is(err, mongoerr.NamespaceNotFound):
			continue
		case err != nil:
			return nil, err
		}
		a.colls = append(a.colls, c)
		found = append(found, list...)
	}
	busy, err := a.namespacesInUse(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(f placement.Finding) bool {
		return slices.Contains(busy, catalog.DatabaseOf(f.Namespace)) || slices.Contains(busy, f.Namespace)
	}), nil
}

// namespacesInUse returns the namespaces that running commands such as movePrimary work on.
func (a *auditRun) namespacesInUse(ctx context.Context) (names []string, err error) {
	for _, s := range a.shards.ReadableShards() {
		list, err := s.ReadDDLNamespaces(ctx)
		if err != nil && !mongoerr.Is(err, mongoerr.Unauthorized) {
			return nil, err
		}
		names = append(names, list...)
	}
	return names, nil
}

// readHoldings reads the collections of all shards, by namespace.
func (a *auditRun) readHoldings(ctx context.Context) (map[string]*placement.Collection, error) {
	colls := map[string]*placement.Collection{}
	collectionOf := func(ns string) *placement.Collection {
		if colls[ns] == nil {
			c := &placement.Collection{Primary: a.config.Primaries[catalog.DatabaseOf(ns)]}
			c.Collection, c.Tracked = a.config.Collections[ns]
			c.Namespace = ns
			colls[ns] = c
		}
		return colls[ns]
	}
	for ns := range a.config.Collections {
		if a.selects(ns) {
			collectionOf(ns)
		}
	}
	databases := slices.DeleteFunc(slices.Sorted(maps.Keys(a.config.Primaries)), func(name string) bool {
		return len(a.Namespaces) > 0 && !slices.ContainsFunc(a.Namespaces, func(ns string) bool {
			return ns == name || strings.HasPrefix(ns, name+".")
		})
	})
	for _, s := range a.shards.ReadableShards() {
		held, err := a.readShardHoldings(ctx, s, databases)
		if mongoerr.Is(err, mongoerr.Unauthorized) {
			s.MarkUnreadable(ctx, err)
			a.addUnchecked("what %s has (%s): %s", s.ID, s.Host, s.Problem)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, ns := range slices.Sorted(maps.Keys(held)) {
			c := collectionOf(ns)
			c.Holdings = append(c.Holdings, *held[ns])
		}
	}
	for _, c := range colls {
		c.Unreadable = a.shards.UnreadableIDs()
	}
	return colls, nil
}

// readShardHoldings reads the collections of one shard, by namespace.
func (a *auditRun) readShardHoldings(
	ctx context.Context, s *holdings.Shard, databases []string,
) (map[string]*placement.Holding, error) {
	held, err := s.ReadHoldings(ctx, databases)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(held, func(ns string, _ *placement.Holding) bool { return !a.selects(ns) })
	for ns, h := range held {
		if h.Docs, err = s.Count(ctx, ns); err != nil {
			return nil, err
		}
		if _, tracked := a.config.Collections[ns]; !tracked {
			continue
		}
		if h.Indexes, err = s.ReadIndexes(ctx, ns); err != nil {
			return nil, err
		}
	}
	return held, nil
}

// compareCollection compares one collection.
func (a *auditRun) compareCollection(
	ctx context.Context,
	c *placement.Collection,
) (found []placement.Finding, err error) {
	if !c.Tracked {
		return c.FindDifferences(), nil
	}
	t, err := a.readTable(ctx, c.Namespace, a.tables[c.Namespace])
	if err != nil {
		return nil, err
	}
	a.tables[c.Namespace] = t
	found = slices.Clone(t.findings)
	c.Owners = slices.DeleteFunc(t.judge.Owners.Shards(), func(id catalog.ShardID) bool {
		return !slices.Contains(a.shards.IDs(), id) // chunks name a shard that does not exist
	})
	if !c.Unsplittable { // only a sharded collection can have zones
		zones, err := a.shards.ReadZones(ctx, c.Namespace)
		if err != nil {
			return nil, err
		}
		found = append(found, placement.CheckZones(c.Collection, zones)...)
	}
	return append(found, c.FindDifferences()...), nil
}

// addInconsistencies adds the findings that two consecutive runs of checkMetadataConsistency report, in
// releases that have the command.
func (a *auditRun) addInconsistencies(ctx context.Context) error {
	list, err := a.readInconsistencies(ctx)
	waited := new(live.ShardTimeoutError)
	switch {
	case mongoerr.Is(err, mongoerr.CommandNotFound):
		if len(a.shards.UnreadableIDs()) > 0 {
			a.addUnchecked("indexes, options and UUIDs on those shards: before 7.0 a router does not compare them")
		}
		return nil
	case mongoerr.Is(err, mongoerr.Unauthorized):
		a.addUnchecked("checkMetadataConsistency, which the role clusterManager allows: %v", err)
		return nil
	case errors.As(err, &waited):
		a.addUnchecked("checkMetadataConsistency: %v", err)
		return nil
	case err != nil:
		return err
	}
	before := len(a.result.Findings)
	found := placement.MergeInconsistencies(a.result.Findings, list)
	if len(found) == before {
		return nil
	}
	if err := a.cluster.Clock.Sleep(ctx, a.RereadPause); err != nil {
		return err
	}
	again, err := a.readInconsistencies(ctx)
	if err != nil {
		a.addUnchecked("checkMetadataConsistency, again: %v", err)
	}
	list = slices.DeleteFunc(list, func(i catalog.Inconsistency) bool { return !slices.Contains(again, i) })
	a.result.Findings = placement.MergeInconsistencies(a.result.Findings, list)
	return nil
}

func (a *auditRun) readInconsistencies(ctx context.Context) ([]catalog.Inconsistency, error) {
	list, err := live.CheckMetadataConsistency(ctx, live.NewCommandRunner(a.cluster.Client),
		len(a.shards.UnreadableIDs()) > 0)
	return slices.DeleteFunc(list, func(i catalog.Inconsistency) bool {
		return !a.selects(i.Namespace) || strings.HasPrefix(i.Namespace, "config.")
	}), err
}
