package balancer

import (
	"errors"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// selectMigrations returns the chunk selection of one round over all
// collections, in measured batches (spec 01 §3.4). It takes shards out of
// available.
func (l *Loop) selectMigrations(shards []catalog.Shard, available *policy.Available) ([]policy.Migration, error) {
	if available.Len() < 2 {
		l.why.Add(policy.Decision{Code: policy.TooFewShards, Count: available.Len()})
		return nil, nil
	}
	started := l.now
	colls, err := l.collections()
	if err != nil {
		return nil, err
	}
	batch, rest := l.firstBatch(colls)
	l.shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })

	var candidates []policy.Migration
	for i, coll := range rest {
		if !policy.Blocked(coll, l.cfg.Version, l.why) {
			batch = append(batch, coll)
		}
		if len(batch) == statsBatchSize {
			chosen, err := l.processBatch(batch, shards, available)
			if err != nil {
				return nil, err
			}
			candidates = append(candidates, chosen...)
			if available.Len() < 2 {
				l.passedOver(policy.Decision{Code: policy.TooFewShards, Count: available.Len()}, rest[i+1:])
				return candidates, nil
			}
			batch = nil
		}
		if len(candidates) > 0 && l.now.Sub(started) > l.cfg.Parameters().SelectionTimeout {
			l.passedOver(policy.Decision{Code: policy.NotCached}, batch, rest[i+1:])
			return candidates, nil
		}
	}
	if len(batch) == 0 {
		return candidates, nil
	}
	chosen, err := l.processBatch(batch, shards, available)
	return append(candidates, chosen...), err
}

// firstBatch starts with the collections remembered as imbalanced; members
// that are gone or may not be balanced are forgotten.
func (l *Loop) firstBatch(colls []catalog.Collection) (batch, rest []catalog.Collection) {
	byNamespace := make(map[string]catalog.Collection, len(colls))
	for _, coll := range colls {
		byNamespace[coll.Namespace] = coll
	}
	for ns := range l.cache.all() {
		coll, ok := byNamespace[ns]
		if !ok || !coll.Balanceable() {
			l.cache.remove(ns)
			continue
		}
		batch = append(batch, coll)
	}
	for _, coll := range colls {
		if !l.cache.has(coll.Namespace) {
			rest = append(rest, coll)
		}
	}
	return batch, rest
}

// processBatch measures a batch with one command a shard and chooses among
// its collections until fewer than two shards are left.
func (l *Loop) processBatch(batch []catalog.Collection, shards []catalog.Shard,
	available *policy.Available) ([]policy.Migration, error) {
	sizes, err := readSizes(&l.thread, batch)
	if err != nil {
		return nil, err
	}
	if err := l.refreshSettings(); err != nil {
		return nil, err
	}
	l.shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })

	var candidates []policy.Migration
	for i, coll := range batch {
		if available.Len() < 2 {
			l.passedOver(policy.Decision{Code: policy.TooFewShards, Count: available.Len()}, batch[i:])
			break
		}
		chosen, err := l.candidatesFor(coll, sizes[coll.Namespace], shards, available)
		switch {
		case errors.Is(err, errTerminated), failsRound(err):
			return nil, err
		case mongoerr.Is(err, mongoerr.NamespaceNotFound):
			l.leftOut(coll, err)
			l.cache.remove(coll.Namespace)
			continue
		case err != nil:
			l.leftOut(coll, err)
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

// candidatesFor prepares one collection (spec 01 §6.1) and runs the policy.
func (l *Loop) candidatesFor(coll catalog.Collection, sizes map[catalog.ShardID]int64, shards []catalog.Shard,
	available *policy.Available) ([]policy.Migration, error) {
	routing, err := l.routing(coll.Namespace)
	if err != nil {
		return nil, err
	}
	if err := policy.CheckAligned(routing.Table, routing.Zones); err != nil {
		return nil, err
	}
	settings := l.Settings()
	situation := NewSituation(routing, sizes, shards, settings)
	situation.Random, situation.Reasons = l.random(), l.cfg.Reasons
	report := l.report()
	chosen, _, err := policy.SelectMigrations(situation, available, report)
	l.take(report)
	return chosen, err
}

// NewSituation puts together what the policy looks at for one collection: its
// routing, the measured sizes, the shards in the round's order.
func NewSituation(r Routing, sizes map[catalog.ShardID]int64, shards []catalog.Shard,
	settings catalog.Settings) policy.Situation {
	maxChunk := r.Collection.MaxChunkSizeBytes
	if maxChunk == 0 {
		maxChunk = settings.MaxChunkSizeBytes
	}
	return policy.Situation{
		Namespace:  r.Collection.Namespace,
		UUID:       r.Collection.UUID,
		Table:      r.Table,
		Zones:      r.Zones,
		Shards:     shards,
		Sizes:      catalog.DataSizes{ByShard: sizes, MaxChunkSizeBytes: maxChunk},
		ForceJumbo: settings.AttemptJumbo,
	}
}
