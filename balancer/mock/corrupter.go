package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// Corrupter injects inconsistencies into a cluster, such as those caused by server bugs, restores of
// single shards, and commands that bypass the router. Each method takes the lock.
type Corrupter struct{ c *Cluster }

// Corrupter returns a Planter of the cluster.
func (c *Cluster) Corrupter() Corrupter { return Corrupter{c} }

// withCollection calls change with a shard's collection.
func (p Corrupter) withCollection(id catalog.ShardID, ns string, change func(*localCollection) error) error {
	p.c.clock.Lock()
	defer p.c.clock.Unlock()
	s := p.c.shards[id]
	if s == nil || s.colls[ns] == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "shard %s has no %s", id, ns)
	}
	return change(s.colls[ns])
}

// CreateCollection creates a collection on one shard that does not have it.
func (p Corrupter) CreateCollection(id catalog.ShardID, ns string, uuid bson.Binary) error {
	p.c.clock.Lock()
	defer p.c.clock.Unlock()
	s := p.c.shards[id]
	switch {
	case s == nil:
		return mongoerr.New(mongoerr.ShardNotFound, "there is no shard %s", id)
	case s.colls[ns] != nil:
		return mongoerr.New(mongoerr.NamespaceExists, "shard %s has %s", id, ns)
	}
	s.colls[ns] = newLocal(LanguageOf(p.c.release), uuid, nil, ns)
	return nil
}

// Insert inserts a document on a shard that need not own its shard key.
func (p Corrupter) Insert(id catalog.ShardID, ns string, doc bson.Raw) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		_, err := l.docs.Insert(slices.Clone(doc))
		return err
	})
}

// Delete removes the document with an _id from a shard, if the shard has it.
func (p Corrupter) Delete(id catalog.ShardID, ns string, key bson.RawValue) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		if record, _, found := l.docs.FindByID(key); found {
			l.docs.Delete(record)
		}
		return nil
	})
}

// Documents returns a shard's documents of a collection, including orphans.
func (p Corrupter) Documents(id catalog.ShardID, ns string) (docs []bson.Raw) {
	_ = p.withCollection(id, ns, func(l *localCollection) error {
		for _, doc := range l.docs.Scan() {
			docs = append(docs, slices.Clone(doc))
		}
		return nil
	}) // returns none if the collection does not exist
	slices.SortFunc(docs, func(a, b bson.Raw) int { return keyorder.Compare(a.Lookup("_id"), b.Lookup("_id")) })
	return docs
}

// Indexes returns the names of a collection's indexes on a shard.
func (p Corrupter) Indexes(id catalog.ShardID, ns string) (names []string) {
	_ = p.withCollection(id, ns, func(l *localCollection) error {
		for _, spec := range l.docs.Indexes() {
			names = append(names, spec.Name)
		}
		return nil
	}) // returns none if the collection does not exist
	slices.Sort(names)
	return names
}

// UUIDOf returns the UUID of a collection on one shard; there is false if the shard does not have it.
func (p Corrupter) UUIDOf(id catalog.ShardID, ns string) (uuid bson.Binary, there bool) {
	_ = p.withCollection(id, ns, func(l *localCollection) error {
		uuid, there = l.uuid, true
		return nil
	})
	return uuid, there
}

// AddIndex creates an index on one shard.
func (p Corrupter) AddIndex(id catalog.ShardID, ns string, spec store.IndexSpec) error {
	return p.withCollection(id, ns, func(l *localCollection) error { return l.docs.CreateIndex(spec) })
}

// DropIndex drops an index on one shard.
func (p Corrupter) DropIndex(id catalog.ShardID, ns, name string) error {
	return p.withCollection(id, ns, func(l *localCollection) error { return l.docs.DropIndex(name) })
}

// SetOptions replaces the options of a collection on one shard.
func (p Corrupter) SetOptions(id catalog.ShardID, ns string, options bson.D) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		made := newLocal(l.docs.Language, l.uuid, options, ns)
		l.options, l.validator, l.warnOnly, l.moderate = options, made.validator, made.warnOnly, made.moderate
		return nil
	})
}

// SetUUID replaces the UUID of a collection on one shard.
func (p Corrupter) SetUUID(id catalog.ShardID, ns string, uuid bson.Binary) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		l.uuid = uuid
		return nil
	})
}

// ResetChunkHistory replaces the history of the chunk that begins at bound, as a restore of the config
// server from an older backup may do. The new history begins with firstShard.
func (p Corrupter) ResetChunkHistory(ns string, bound bson.Raw, firstShard catalog.ShardID) error {
	p.c.clock.Lock()
	defer p.c.clock.Unlock()
	coll, err := p.c.config.RequireSharded(ns)
	if err != nil {
		return err
	}
	key, err := coll.Pattern.ParseKey(bound)
	if err != nil {
		return err
	}
	chunk := p.c.config.Table(ns).Find(key)
	chunk.History = []catalog.ChunkHistory{{ValidAfter: chunk.OnCurrentShardSince, Shard: firstShard}}
	chunk.Version.Minor++
	return p.c.config.tables[ns].Put(chunk)
}

// OverrideConfigChunks makes reads of config.chunks return a collection's chunks as change
// rewrites them, without those for which it returns nil; the routing tables stay as they are. A
// nil change ends that.
func (p Corrupter) OverrideConfigChunks(ns string, change func(chunk bson.Raw) bson.Raw) {
	p.c.clock.Lock()
	defer p.c.clock.Unlock()
	p.c.configChunks.overrides = map[string]func(bson.Raw) bson.Raw{ns: change}
}
