package mock

import (
	"context"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Unsharded lists what lives whole on one shard: collections that are not in
// the catalog, which are on the primary shard of their database, and those that
// are there without being sharded.
func (e engine) Unsharded(context.Context) ([]policy.Unsharded, error) {
	var list []policy.Unsharded
	for _, id := range e.c.shardIDs() {
		for ns, local := range e.c.shards[id].colls {
			db, _, _ := strings.Cut(ns, ".")
			coll, tracked, err := e.c.config.Tracked(ns)
			primary, _ := e.c.config.Primary(db)
			switch {
			case err != nil:
				return nil, err
			case tracked && coll.Unsplittable && e.c.config.tables[ns].At(0).Shard == id:
				list = append(list, policy.Unsharded{Namespace: ns, UUID: coll.UUID, Shard: id, Tracked: true,
					NoBalance: !coll.Balanceable()})
			case !tracked && primary == id && !onConfigServer(db) && db != "local":
				list = append(list, policy.Unsharded{Namespace: ns, UUID: local.uuid, Shard: id})
			}
		}
	}
	slices.SortFunc(list, func(a, b policy.Unsharded) int { return strings.Compare(a.Namespace, b.Namespace) })
	return list, nil
}

// startMoveUnsharded begins what moveCollection does, for the balancer.
func (c *Cluster) startMoveUnsharded(m policy.Migration, done func(error)) {
	plan, err := c.planUnsharded(m)
	if err != nil {
		c.after(batchTime, func() { done(err) })
		return
	}
	c.startResharding(plan, done)
}

func (c *Cluster) planUnsharded(m policy.Migration) (reshardPlan, error) {
	coll, tracked, err := c.config.Tracked(m.Namespace)
	if err != nil {
		return reshardPlan{}, err
	}
	var local *localCollection
	if donor := c.shards[m.From]; donor != nil {
		local = donor.colls[m.Namespace]
	}
	switch {
	case c.shards[m.To] == nil:
		return reshardPlan{}, mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", m.To)
	case local == nil || !local.uuid.Equal(m.UUID) || tracked && !coll.Unsplittable:
		return reshardPlan{}, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", m.Namespace)
	}
	if !tracked {
		if err := c.track(m.Namespace, m.From); err != nil {
			return reshardPlan{}, err
		}
	}
	return c.onePlan(m.Namespace, byBalancer, m.To)
}

// markFull fills in what shards with a limit hold (spec 01 §3.1).
func (c *Cluster) markFull(shards []catalog.Shard) {
	for i, s := range shards {
		if local := c.shards[s.ID]; s.MaxSizeMB > 0 && local != nil {
			shards[i].SizeMB = local.totalBytes() / 1024 / 1024
		}
	}
}
