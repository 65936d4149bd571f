package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// IndexResult is what createIndexes or dropIndexes did on one shard.
type IndexResult struct {
	Host          string
	Before, After int
	Created       bool
}

// holders are the shards that have indexes of a namespace: the owners of a
// sharded collection, else the primary.
func (c *Cluster) holders(ns string) []catalog.ShardID {
	var ids []catalog.ShardID
	for _, part := range c.Stats(ns) {
		ids = append(ids, part.Shard)
	}
	return ids
}

// CreateIndexes makes indexes wherever the collection has data, after making
// the collection when it is missing.
func (rq *Request) CreateIndexes(ns string, specs []store.IndexSpec) ([]IndexResult, error) {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	if err := rq.c.refuseView(ns); err != nil {
		return nil, err
	}
	if rq.c.config.holds(ns) {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "can't create indexes on %s", ns)
	}
	if err := rq.CreateDatabase(db, ""); err != nil {
		return nil, err
	}
	created := !rq.c.Exists(ns)
	if created {
		if err := checkNewCollection(ns); err != nil {
			return nil, err
		}
		rq.c.localPrimary(ns, nil)
	}
	if err := rq.c.checkUniqueAgainstShardKey(ns, specs); err != nil {
		return nil, err
	}
	if err := rq.c.checkExpiry(ns, specs); err != nil {
		return nil, err
	}
	var results []IndexResult
	for _, id := range rq.c.holders(ns) {
		docs := rq.c.shards[id].colls[ns].docs
		result := IndexResult{Host: rq.c.hostOf(id), Before: len(docs.Indexes()), Created: created}
		if err := createAll(docs, specs); err != nil {
			return nil, err
		}
		if result.After = len(docs.Indexes()); result.After > result.Before {
			rq.c.abortMigrations(ns)
		}
		results = append(results, result)
	}
	rq.c.watchExpiry()
	rq.c.Tick()
	return results, nil
}

// createAll makes all indexes or, when one fails, none.
func createAll(docs *store.Collection, specs []store.IndexSpec) error {
	before := indexesByName(docs)
	for _, spec := range specs {
		err := docs.CreateIndex(spec)
		if err == nil {
			continue
		}
		for name := range indexesByName(docs) {
			if _, was := before[name]; !was {
				if dropErr := docs.DropIndex(name); dropErr != nil {
					return dropErr
				}
			}
		}
		return err
	}
	return nil
}

// checkUniqueAgainstShardKey: a unique index of a sharded collection must
// begin with the shard key.
func (c *Cluster) checkUniqueAgainstShardKey(ns string, specs []store.IndexSpec) error {
	coll, sharded, err := c.config.shardedEntry(ns)
	if err != nil || !sharded {
		return err
	}
	for _, spec := range specs {
		if spec.Unique && !beginsWith(spec.Key, coll.Pattern) {
			return mongoerr.New(mongoerr.CannotCreateIndex, "cannot create unique index over %s with shard key pattern %s", spec.Key, coll.Pattern.Doc())
		}
	}
	return nil
}

// Indexes lists a collection's indexes; false when there is no collection.
func (c *Cluster) Indexes(ns string) ([]store.IndexSpec, bool) {
	if _, _, err := catalog.SplitNamespace(ns); err != nil {
		return nil, false
	}
	if ns == chunksNamespace {
		return chunkIndexes(), true
	}
	if c.config.holds(ns) {
		docs := c.config.collections[ns]
		if docs == nil {
			return nil, false
		}
		return docs.Indexes(), true
	}
	ids := c.holders(ns)
	if len(ids) == 0 {
		return nil, false
	}
	return c.shards[ids[0]].colls[ns].docs.Indexes(), true
}

// IndexesOn lists the indexes of a collection on one shard.
func (c *Cluster) IndexesOn(ns string, id catalog.ShardID) []store.IndexSpec {
	if c.config.holds(ns) {
		specs, _ := c.Indexes(ns)
		return specs
	}
	s := c.shards[id]
	if s == nil || s.colls[ns] == nil {
		return nil
	}
	return s.colls[ns].docs.Indexes()
}

// beginsWith tells whether an index's key begins with the fields of a shard
// key, in order.
func beginsWith(key bson.Raw, p catalog.KeyPattern) bool {
	fields := fieldNames(key)
	return len(fields) >= p.Len() && slices.Equal(fields[:p.Len()], p.Fields())
}

// DroppableIndexes are those that dropIndexes "*" drops: all but _id and the
// last one that serves the shard key.
func (c *Cluster) DroppableIndexes(ns string) []string {
	specs, _ := c.Indexes(ns)
	coll, sharded, _ := c.config.shardedEntry(ns)
	var names []string
	for _, spec := range specs {
		serves := sharded && beginsWith(spec.Key, coll.Pattern)
		if spec.Name != "_id_" && !serves {
			names = append(names, spec.Name)
		}
	}
	return names
}

// DropIndexes drops indexes by name on every shard that has the collection.
func (c *Cluster) DropIndexes(ns string, names []string) ([]IndexResult, error) {
	specs, _ := c.Indexes(ns)
	coll, sharded, err := c.config.shardedEntry(ns)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		at := slices.IndexFunc(specs, func(s store.IndexSpec) bool { return s.Name == name })
		if at < 0 {
			return nil, mongoerr.New(mongoerr.IndexNotFound, "index not found with name [%s]", name)
		}
		if name == "_id_" {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "cannot drop _id index")
		}
		if sharded && c.lastForShardKey(coll, specs, name) {
			return nil, mongoerr.New(mongoerr.CannotDropShardKeyIndex, "Cannot drop the only compatible index for this collection's shard key")
		}
	}
	c.abortMigrations(ns)
	var results []IndexResult
	for _, id := range c.holders(ns) {
		docs := c.shards[id].colls[ns].docs
		result := IndexResult{Host: c.hostOf(id), Before: len(docs.Indexes())}
		for _, name := range names {
			if err := docs.DropIndex(name); err != nil {
				return nil, err
			}
		}
		result.After = len(docs.Indexes())
		results = append(results, result)
	}
	c.Tick()
	return results, nil
}

// lastForShardKey tells whether an index is the only one that serves the
// shard key.
func (c *Cluster) lastForShardKey(coll catalog.Collection, specs []store.IndexSpec, name string) bool {
	serving := 0
	isServing := false
	for _, spec := range specs {
		if beginsWith(spec.Key, coll.Pattern) {
			serving++
			isServing = isServing || spec.Name == name
		}
	}
	return isServing && serving == 1
}
