package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// Indexes creates, changes and drops the indexes of collections on all shards that have them.
type Indexes struct {
	*clusterSettings
	addresses    *Addresses
	changes      *ChangeFeed
	config       *ConfigDB
	configChunks *ConfigChunks
	ids          *ids.Source
	migrations   *Migrations
	shards       shardSet
	stats        *Statistics
	ttl          *ttlMonitor
}

// Indexes returns the Indexes of the cluster.
func (c *Cluster) Indexes() *Indexes { return c.indexes }

// IndexResult is the result of createIndexes or dropIndexes on one shard.
type IndexResult struct {
	Host          string
	Before, After int
	Created       bool
}

// shardsWithCollection returns the shards that have indexes of a namespace: the owners of a
// sharded collection, else the primary.
func (st *Statistics) shardsWithCollection(ns string) []catalog.ShardID {
	var ids []catalog.ShardID
	for _, part := range st.Collection(ns) {
		ids = append(ids, part.Shard)
	}
	return ids
}

// CheckIndexes rejects indexes that the collection cannot have.
func (rq *Request) CheckIndexes(ns string, specs []store.IndexSpec) error {
	if err := rq.env.collections.checkNotView(ns); err != nil {
		return err
	}
	if err := rq.env.indexes.CheckChangeable(ns); err != nil {
		return err
	}
	if err := rq.env.indexes.checkUniqueAgainstShardKey(ns, specs); err != nil {
		return err
	}
	return rq.env.indexes.checkExpiry(ns, specs)
}

// CreateIndexes creates indexes on all shards that have data of the collection. It creates the
// collection if it does not exist.
func (rq *Request) CreateIndexes(ns string, specs []store.IndexSpec) ([]IndexResult, error) {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	if err := rq.CheckIndexes(ns, specs); err != nil {
		return nil, err
	}
	if err := rq.CreateDatabase(db, ""); err != nil {
		return nil, err
	}
	created := !rq.env.collections.Exists(ns)
	if created {
		if err := checkNewCollection(ns); err != nil {
			return nil, err
		}
		rq.env.collections.ensureOnPrimary(ns, nil)
	}
	var results []IndexResult
	existing, _ := rq.env.indexes.List(ns)
	for _, id := range rq.env.stats.shardsWithCollection(ns) {
		docs := rq.env.shards[id].colls[ns].docs
		result := IndexResult{Host: rq.env.addresses.HostOf(id), Before: len(docs.Indexes()), Created: created}
		if err := createAll(docs, specs); err != nil {
			return nil, err
		}
		if result.After = len(docs.Indexes()); result.After > result.Before {
			rq.env.migrations.abortForIndexes(ns)
		}
		results = append(results, result)
	}
	changes := rq.env.changes
	changes.noteIndexes(ChangeCreateIndexes, ns, slices.DeleteFunc(slices.Clone(specs), func(s store.IndexSpec) bool {
		return slices.ContainsFunc(existing, func(e store.IndexSpec) bool { return e.Name == s.Name })
	}))
	rq.env.ttl.schedule()
	rq.env.ids.Tick()
	return results, nil
}

// CheckChangeable rejects the collections of the config server, whose indexes belong to the catalog.
func (ix *Indexes) CheckChangeable(ns string) error {
	if ix.config.holdsCollection(ns) {
		return mongoerr.New(mongoerr.IllegalOperation, "can't change the indexes of %s", ns)
	}
	return nil
}

// createAll creates all indexes, or none if one fails.
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

// checkUniqueAgainstShardKey rejects unique indexes that a sharded collection cannot enforce.
func (ix *Indexes) checkUniqueAgainstShardKey(ns string, specs []store.IndexSpec) error {
	coll, sharded, err := ix.config.ShardedEntry(ns)
	if err != nil || !sharded {
		return err
	}
	for _, spec := range specs {
		if spec.Unique && !canKeepUnique(spec.Key, coll.Pattern) {
			return mongoerr.New(mongoerr.CannotCreateIndex, "cannot create unique index over %s with shard key pattern %s",
				spec.Key, coll.Pattern.Doc())
		}
	}
	return nil
}

// List returns a collection's indexes, and false if the collection does not exist.
func (ix *Indexes) List(ns string) ([]store.IndexSpec, bool) {
	if _, _, err := catalog.SplitNamespace(ns); err != nil {
		return nil, false
	}
	if ns == chunksNamespace {
		return ix.configChunks.format().indexes(), true
	}
	if ix.config.holdsCollection(ns) {
		docs := ix.config.existingCollection(ns)
		if docs == nil {
			return nil, false
		}
		return docs.Indexes(), true
	}
	ids := ix.stats.shardsWithCollection(ns)
	if len(ids) == 0 {
		return nil, false
	}
	return ix.shards[ids[0]].colls[ns].docs.Indexes(), true
}

// ListOn returns the indexes of a collection on one shard.
func (ix *Indexes) ListOn(ns string, id catalog.ShardID) []store.IndexSpec {
	if ix.config.holdsCollection(ns) {
		specs, _ := ix.List(ns)
		return specs
	}
	s := ix.shards[id]
	if s == nil || s.colls[ns] == nil {
		return nil
	}
	return s.colls[ns].docs.Indexes()
}

// hasKeyPrefix reports whether an index's key begins with the fields of a shard
// key, in order.
func hasKeyPrefix(key bson.Raw, p catalog.KeyPattern) bool {
	fields := catalog.FieldNames(key)
	return len(fields) >= p.Len() && slices.Equal(fields[:p.Len()], p.Fields())
}

// DroppableNames returns the indexes that dropIndexes "*" drops: all except _id and those that serve the
// shard key, unless the shard key is hashed.
func (ix *Indexes) DroppableNames(ns string) []string {
	coll, protected := ix.collectionRequiringKeyIndex(ns)
	var names []string
	for _, id := range ix.stats.shardsWithCollection(ns) {
		docs := ix.shards[id].colls[ns].docs
		for _, name := range indexNames(docs) {
			if name != "_id_" && !(protected && docs.IndexServes(coll.Pattern.Doc(), name)) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// collectionRequiringKeyIndex returns the collection if it is sharded and must keep an index on its shard key.
func (ix *Indexes) collectionRequiringKeyIndex(ns string) (coll catalog.Collection, is bool) {
	coll, sharded, err := ix.config.ShardedEntry(ns)
	return coll, err == nil && sharded && needsIndex(ix.release, coll.Pattern)
}

// needsIndex reports whether a shard key requires an index. A hashed shard key may lack one; its
// collection is then not balanced.
func needsIndex(r catalog.Release, p catalog.KeyPattern) bool {
	return p.HashedField() < 0 || !r.AllowsDroppingHashedIndex()
}

// Drop drops indexes by name on every shard that has the collection.
func (ix *Indexes) Drop(ns string, names []string) ([]IndexResult, error) {
	specs, _ := ix.List(ns)
	for i, name := range names {
		if !slices.ContainsFunc(specs, func(s store.IndexSpec) bool { return s.Name == name }) {
			return nil, mongoerr.New(mongoerr.IndexNotFound, "index not found with name [%s]", name)
		}
		if name == "_id_" {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "cannot drop _id index")
		}
		if ix.isLastForShardKey(ns, name, names[:i]) {
			return nil, mongoerr.New(mongoerr.CannotDropShardKeyIndex,
				"Cannot drop the only compatible index for this collection's shard key")
		}
	}
	ix.migrations.abortForIndexes(ns)
	var results []IndexResult
	for _, id := range ix.stats.shardsWithCollection(ns) {
		docs := ix.shards[id].colls[ns].docs
		result := IndexResult{Host: ix.addresses.HostOf(id), Before: len(docs.Indexes())}
		for _, name := range names {
			if err := docs.DropIndex(name); err != nil {
				return nil, err
			}
		}
		result.After = len(docs.Indexes())
		results = append(results, result)
	}
	ix.changes.noteIndexes(ChangeDropIndexes, ns, slices.DeleteFunc(specs, func(s store.IndexSpec) bool {
		return !slices.Contains(names, s.Name)
	}))
	ix.ids.Tick()
	return results, nil
}

// isLastForShardKey reports whether an index is, on any shard, the only one that serves the shard key.
// Indexes that are multikey, hidden or about to be dropped don't count.
func (ix *Indexes) isLastForShardKey(ns, name string, dropping []string) bool {
	coll, protected := ix.collectionRequiringKeyIndex(ns)
	return protected && slices.ContainsFunc(ix.stats.shardsWithCollection(ns), func(id catalog.ShardID) bool {
		return ix.shards[id].colls[ns].docs.IsLastIndexFor(coll.Pattern.Doc(), name, dropping)
	})
}

// PrepareUnique makes an index reject or accept new duplicates on every shard, and reports whether it
// rejected them before.
func (ix *Indexes) PrepareUnique(ns string, spec store.IndexSpec, on bool) (wasPrepared bool, err error) {
	if err := ix.checkUniqueAgainstShardKey(ns, []store.IndexSpec{{Name: spec.Name, Key: spec.Key,
		Unique: on}}); err != nil {
		return false, err
	}
	for _, id := range ix.stats.shardsWithCollection(ns) {
		if wasPrepared, err = ix.shards[id].colls[ns].docs.SetPrepareUnique(spec.Name, on); err != nil {
			return wasPrepared, err
		}
	}
	ix.ids.Tick()
	return wasPrepared, nil
}

// MakeUnique converts a prepared index to a unique index on every shard; with dryRun it only checks. If
// there are duplicates, it fails with CannotConvertIndexToUnique; the error contains their _ids.
func (ix *Indexes) MakeUnique(ns, name string, dryRun bool) error {
	violations := bson.A{}
	for _, id := range ix.stats.shardsWithCollection(ns) {
		groups, err := ix.shards[id].colls[ns].docs.DuplicateGroups(name)
		if err != nil {
			return err
		}
		for _, ids := range groups {
			violations = append(violations, bson.D{{Key: "ids", Value: ids}})
		}
	}
	if len(violations) > 0 {
		refused := mongoerr.New(mongoerr.CannotConvertIndexToUnique,
			"Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.")
		refused.Extra = bson.D{{Key: "violations", Value: violations}}
		return refused
	}
	if dryRun {
		return nil
	}
	for _, id := range ix.stats.shardsWithCollection(ns) {
		if err := ix.shards[id].colls[ns].docs.MakeUnique(name); err != nil {
			return err
		}
	}
	ix.ids.Tick()
	return nil
}
