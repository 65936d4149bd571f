package balancer

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// selectUnsharded returns the migrations of unsharded collections. There are migrations only with the
// fail point of the server's own tests (rules/01-selection §8).
func (l *Loop) selectUnsharded(shards []catalog.Shard, available *policy.AvailableShards) ([]policy.Migration, error) {
	random := l.randomMoveSource()
	if random == nil || !l.cfg.Release.MovesCollections() {
		return nil, nil
	}
	colls, err := call(&l.thread, "unsharded", func(ctx context.Context, c Cluster) ([]policy.Unsharded, error) {
		return c.Unsharded(ctx)
	})
	if err != nil {
		return nil, err
	}
	sharded, err := l.collections()
	if err != nil {
		return nil, err
	}
	situation := policy.UnshardedSituation{Shards: shards, Collections: colls,
		MinReshardingTime: l.cfg.Parameters().MinReshardingDuration}
	for _, coll := range sharded {
		situation.Sharded = append(situation.Sharded, coll.Namespace)
	}
	m, ok := policy.SelectUnsharded(situation, available, random)
	if !ok {
		return nil, nil
	}
	l.decisions.Add(policy.NewChoice(m))
	return []policy.Migration{m}, nil
}

// randomMoveSource returns the random source while RandomMigrations is on, and nil otherwise.
func (l *Loop) randomMoveSource() policy.RandomSource {
	if !l.cfg.Parameters().RandomMigrations {
		return nil
	}
	return l.rand
}
