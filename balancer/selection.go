package balancer

import (
	"errors"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// selectMigrations selects the chunks of one round in all collections, in batches of measured
// collections (rules/01-rounds-and-settings §3.4). It takes shards out of available.
func (l *Loop) selectMigrations(shards []catalog.Shard, available *policy.AvailableShards) ([]policy.Migration, error) {
	if available.Len() < 2 {
		l.decisions.Add(policy.Decision{Code: policy.TooFewShards, Count: available.Len()})
		return nil, nil
	}
	started := l.now
	colls, err := l.collections()
	if err != nil {
		return nil, err
	}
	batch, rest := l.firstBatch(colls)
	l.rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })

	var candidates []policy.Migration
	for i, coll := range rest {
		if !policy.ReportBlocked(*coll, l.cfg.Release, l.decisions.Report) {
			batch = append(batch, coll)
		}
		if len(batch) == statsBatchSize {
			chosen, err := l.processBatch(batch, shards, available)
			if err != nil {
				return nil, err
			}
			candidates = append(candidates, chosen...)
			if available.Len() < 2 {
				l.decisions.reportSkipped(policy.Decision{Code: policy.TooFewShards, Count: available.Len()}, rest[i+1:])
				return candidates, nil
			}
			batch = nil
		}
		if len(candidates) > 0 && l.now.Sub(started) > l.cfg.Parameters().SelectionTimeout {
			l.decisions.reportSkipped(policy.Decision{Code: policy.SelectionTimedOut}, batch, rest[i+1:])
			return candidates, nil
		}
	}
	if len(batch) == 0 {
		return candidates, nil
	}
	chosen, err := l.processBatch(batch, shards, available)
	return append(candidates, chosen...), err
}

// firstBatch returns the first batch of collections, beginning with those that the cache has as
// imbalanced. It removes collections from the cache that do not exist any more or may not be balanced.
func (l *Loop) firstBatch(colls []catalog.Collection) (batch, rest []*catalog.Collection) {
	cached := make(map[string]*catalog.Collection, l.cache.len())
	for i := range colls {
		if l.cache.has(colls[i].Namespace) && colls[i].BalanceableIn(l.cfg.Release) {
			cached[colls[i].Namespace] = &colls[i]
		}
	}
	for ns := range l.cache.all() {
		coll, ok := cached[ns]
		if !ok {
			l.cache.remove(ns)
			continue
		}
		batch = append(batch, coll)
	}
	rest = make([]*catalog.Collection, 0, len(colls)-len(batch))
	for i := range colls {
		if !l.cache.has(colls[i].Namespace) {
			rest = append(rest, &colls[i])
		}
	}
	return batch, rest
}

// processBatch measures the collections of a batch with one command per shard, and chooses migrations
// for them until fewer than two shards are available.
func (l *Loop) processBatch(batch []*catalog.Collection, shards []catalog.Shard,
	available *policy.AvailableShards) ([]policy.Migration, error) {
	m, talks := batchSizes{loop: l, batch: batch}, l.decisions.needsAllCollections()
	if l.cfg.Revision == nil || talks {
		if err := m.measure(); err != nil {
			return nil, err
		}
	}
	l.rand.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })

	var candidates []policy.Migration
	for i, coll := range batch {
		if available.Len() < 2 {
			l.decisions.reportSkipped(policy.Decision{Code: policy.TooFewShards, Count: available.Len()}, batch[i:])
			break
		}
		if !talks && l.idle.nothingToMove(coll.Namespace, available) {
			l.cache.remove(coll.Namespace)
			continue
		}
		if err := m.measure(); err != nil {
			return nil, err
		}
		chosen, err := l.candidatesFor(coll, m.sizes[coll.Namespace], shards, available)
		switch {
		case errors.Is(err, errTerminated), failsRound(err):
			return nil, err
		case mongoerr.Is(err, mongoerr.NamespaceNotFound):
			l.decisions.reportUnreadable(*coll, err)
			l.cache.remove(coll.Namespace)
			continue
		case err != nil:
			l.decisions.reportUnreadable(*coll, err)
			l.cfg.Logger.Warn("collection left out of this round", "id", 21853, "ns", coll.Namespace, "error", err)
			continue
		}
		candidates = append(candidates, chosen...)
		if len(chosen) == 0 {
			l.cache.remove(coll.Namespace)
		} else {
			l.cache.add(coll.Namespace)
		}
	}
	return candidates, nil
}

// batchSizes asks the shards once for the sizes of the collections of a batch.
type batchSizes struct {
	loop  *Loop
	batch []*catalog.Collection
	sizes map[string]map[catalog.ShardID]int64 // nil before the shards are asked
}

func (b *batchSizes) measure() error {
	if b.sizes != nil {
		return nil
	}
	colls := make([]catalog.Collection, len(b.batch))
	for i, coll := range b.batch {
		colls[i] = *coll
	}
	sizes, err := readSizes(&b.loop.thread, colls)
	if err != nil {
		return err
	}
	b.sizes = sizes
	return b.loop.refreshSettings()
}

// candidatesFor prepares one collection (rules/01-selection §6.1) and runs the policy.
func (l *Loop) candidatesFor(coll *catalog.Collection, sizes map[catalog.ShardID]int64, shards []catalog.Shard,
	available *policy.AvailableShards) ([]policy.Migration, error) {
	routing, err := l.routing(coll.Namespace)
	if err != nil {
		return nil, err
	}
	if routing.Table == nil {
		l.idle.noteNothingToMove(coll.Namespace, available)
		return nil, nil
	}
	if err := policy.CheckAligned(routing.Table, routing.Zones); err != nil {
		return nil, err
	}
	settings := l.Settings()
	situation := l.withRestrictions(NewSituation(routing, sizes, shards, settings))
	situation.RandomMoveSource = l.randomMoveSource()
	report := l.decisions.newCollectionReport()
	chosen, _, err := policy.SelectMigrations(situation, available, report)
	l.decisions.addReport(report)
	if err == nil && len(chosen) == 0 {
		l.idle.noteNothingChosen(situation, available)
	}
	return chosen, err
}

// NewSituation builds the policy's input for one collection: its routing, the measured sizes, and the
// shards in the order of the round.
func NewSituation(r Routing, sizes map[catalog.ShardID]int64, shards []catalog.Shard,
	settings catalog.Settings) policy.Situation {
	return policy.Situation{
		Namespace:  r.Collection.Namespace,
		UUID:       r.Collection.UUID,
		Table:      r.Table,
		Zones:      r.Zones,
		Shards:     shards,
		Sizes:      catalog.DataSizes{ByShard: sizes, MaxChunkSizeBytes: r.Collection.ChunkSize(settings)},
		Release:    settings.Release,
		ForceJumbo: settings.AttemptJumbo,
	}
}
