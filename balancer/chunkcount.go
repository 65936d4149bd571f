package balancer

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// selectByCount selects chunks as the releases do that balance by the number of chunks: it considers
// all collections one after the other, without sizes, batches and the cache of imbalanced collections
// (rules/01-rounds-and-settings §3.4 and rules/01-selection §9.2).
func (l *Loop) selectByCount(shards []catalog.Shard) ([]policy.Migration, error) {
	if len(shards) < 2 {
		l.decisions.Add(policy.Decision{Code: policy.TooFewShards, Count: len(shards)})
		return nil, nil
	}
	for _, s := range shards {
		if s.MaxSizeMB < 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "shard %s has the maxSize %d", s.ID, s.MaxSizeMB)
		}
	}
	colls, err := l.collections()
	if err != nil {
		return nil, err
	}
	rules := policy.RulesOf(l.cfg.Release)
	if rules.AllowsOneMigrationPerShard() {
		colls = slices.Clone(colls)
		l.rand.Shuffle(len(colls), func(i, j int) { colls[i], colls[j] = colls[j], colls[i] })
	}
	var candidates []policy.Migration
	available := policy.NewAvailableShards(shards)
	for _, coll := range colls {
		if policy.ReportBlocked(coll, l.cfg.Release, l.decisions.Report) {
			continue
		}
		if !rules.AllowsOneMigrationPerShard() {
			available = policy.NewAvailableShards(shards)
		}
		chosen, err := l.selectCandidatesByCount(coll, rules, shards, available)
		switch {
		case errors.Is(err, errTerminated), failsRound(err):
			return nil, err
		case mongoerr.Is(err, mongoerr.NamespaceNotFound):
			l.decisions.reportUnreadable(coll, err)
		case err != nil:
			l.decisions.reportUnreadable(coll, err)
			l.cfg.Logger.Warn("collection left out of this round", "id", 21853, "ns", coll.Namespace, "error", err)
		}
		candidates = append(candidates, chosen...)
	}
	return candidates, nil
}

func (l *Loop) selectCandidatesByCount(coll catalog.Collection, rules policy.Rules, shards []catalog.Shard,
	available *policy.AvailableShards) ([]policy.Migration, error) {
	routing, err := l.routing(coll.Namespace)
	if err != nil {
		return nil, err
	}
	if err := policy.CheckAligned(routing.Table, routing.Zones); err != nil {
		return nil, err
	}
	report := l.decisions.newCollectionReport()
	situation := policy.CountSituation{
		Situation: l.withRestrictions(NewSituation(routing, nil, shards, l.Settings())), Rules: rules,
		MovedLastRound: l.movedLastRound, Shuffle: l.rand.Shuffle,
	}
	situation.RandomMoveSource = l.randomMoveSource()
	chosen, _ := policy.SelectByCount(situation, available, report)
	l.decisions.addReport(report)
	return chosen, nil
}

// lockRound takes the lock that releases before 3.4 hold for a round. The returned
// function releases it.
func (l *Loop) lockRound() (locked bool, unlock func(), err error) {
	nothing := func() {}
	if l.cfg.Release.HasConfigServerBalancer() {
		return true, nothing, nil
	}
	locked, err = call(&l.thread, "lock", func(ctx context.Context, c Cluster) (bool, error) {
		lock, ok := c.(RoundLock)
		if !ok {
			return true, nil
		}
		return lock.LockRound(ctx)
	})
	if err != nil || !locked {
		return false, nothing, err
	}
	return true, func() { unlockRound(&l.thread, l.cfg.Logger) }, nil
}

func unlockRound(t *thread, logger *slog.Logger) {
	err := callWithoutValue(t, "unlock", func(ctx context.Context, c Cluster) error {
		if lock, ok := c.(RoundLock); ok {
			return lock.UnlockRound(ctx)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errTerminated) {
		logger.Warn("the lock of the round is not released", "error", err)
	}
}
