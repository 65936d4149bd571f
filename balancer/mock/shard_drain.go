package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Since 8.3 the steps of a removal have commands of their own (spec 05): each of
// these is one. They take a shard that ShardToDrain or ConfigShardToDrain gave.

// ShardToDrain finds a shard by its id, connection string or host. The config
// server is drained by commands of its own.
func (c *Cluster) ShardToDrain(name string) (catalog.Shard, error) {
	shard, err := c.FindShard(name)
	if err == nil && shard.ID == configShard {
		err = mongoerr.New(mongoerr.IllegalOperation, "Cannot remove a config shard with removeShard: use transitionToDedicatedConfigServer")
	}
	return shard, err
}

// ConfigShardToDrain is the config server as a shard; 70 when it is none.
func (c *Cluster) ConfigShardToDrain() (catalog.Shard, error) {
	return c.ShardByID(string(configShard))
}

// StartDraining marks a shard as draining, from when on the balancer empties
// it. That it is draining is no error.
func (c *Cluster) StartDraining(shard catalog.Shard) error {
	if err := c.checkRemoval(shard); err != nil || shard.Draining {
		return err
	}
	if _, err := c.configModify(configShards, string(shard.ID), func(doc *bson.D) { set(doc, "draining", true) }); err != nil {
		return err
	}
	c.logChange(configShard, "removeShard.start", "", bson.D{{Key: "shard", Value: string(shard.ID)}})
	return nil
}

// StopDraining lets a shard stay. That it is not draining is no error.
func (c *Cluster) StopDraining(shard catalog.Shard) error {
	if !shard.Draining {
		return nil
	}
	_, err := c.configModify(configShards, string(shard.ID), func(doc *bson.D) { unset(doc, "draining") })
	return err
}

// DrainingStatus tells what a shard still has.
func (c *Cluster) DrainingStatus(shard catalog.Shard) Removal {
	r := Removal{Shard: shard.ID, Databases: c.databasesOn(shard.ID), Collections: c.unshardedOn(shard.ID)}
	for _, table := range c.tables {
		r.Chunks += int64(table.Count(shard.ID))
		r.JumboChunks += int64(table.JumboCount(shard.ID))
	}
	if r.Empty() && shard.ID == configShard {
		c.cleanConfigShard(&r)
	}
	return r
}

// CommitRemoval takes a shard out of the cluster that has been drained;
// IllegalOperation when it has not.
func (c *Cluster) CommitRemoval(shard catalog.Shard) error {
	if err := c.checkRemoval(shard); err != nil {
		return err
	}
	status := c.DrainingStatus(shard)
	switch {
	case !shard.Draining:
		return mongoerr.New(mongoerr.IllegalOperation, "Shard %s is not draining", shard.ID)
	case !status.Empty() || status.Cleaning:
		return mongoerr.New(mongoerr.IllegalOperation, "Shard %s is not drained: it has %d chunks and %d databases", shard.ID, status.Chunks, len(status.Databases))
	}
	return c.finishRemoval(shard)
}

// unshardedOn lists the tracked collections on a shard that are not sharded:
// the balancer leaves them where they are.
func (c *Cluster) unshardedOn(id catalog.ShardID) []string {
	list := []string{}
	for ns, table := range c.tables {
		coll, _, err := c.Tracked(ns)
		if err == nil && coll.Unsplittable && table.Count(id) > 0 {
			list = append(list, ns)
		}
	}
	slices.Sort(list)
	return list
}
