package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// Planter injects inconsistencies into a cluster, as left by server bugs, restores of single
// shards, and commands that bypass the router. Each method takes the lock.
type Planter struct{ c *Cluster }

// Planter returns those of the cluster.
func (c *Cluster) Planter() Planter { return Planter{c} }

// withCollection runs change on a shard's collection.
func (p Planter) withCollection(id catalog.ShardID, ns string, change func(*localCollection) error) error {
	p.c.clock.Lock()
	defer p.c.clock.Unlock()
	s := p.c.shards[id]
	if s == nil || s.colls[ns] == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "shard %s has no %s", id, ns)
	}
	return change(s.colls[ns])
}

// Collection makes a collection on one shard, where it has none.
func (p Planter) Collection(id catalog.ShardID, ns string, uuid bson.Binary) error {
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

// Insert stores a document on a shard, whether it owns its key or not.
func (p Planter) Insert(id catalog.ShardID, ns string, doc bson.Raw) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		_, err := l.docs.Insert(slices.Clone(doc))
		return err
	})
}

// Delete removes the document with an _id from a shard, if the shard has it.
func (p Planter) Delete(id catalog.ShardID, ns string, key bson.RawValue) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		if record, _, found := l.docs.FindByID(key); found {
			l.docs.Delete(record)
		}
		return nil
	})
}

// Documents returns what a shard has of a collection, orphans included.
func (p Planter) Documents(id catalog.ShardID, ns string) (docs []bson.Raw) {
	_ = p.withCollection(id, ns, func(l *localCollection) error {
		for _, doc := range l.docs.Scan() {
			docs = append(docs, slices.Clone(doc))
		}
		return nil
	}) // without it there are none
	slices.SortFunc(docs, func(a, b bson.Raw) int { return keyorder.Compare(a.Lookup("_id"), b.Lookup("_id")) })
	return docs
}

// Indexes returns the names of the indexes that a shard has of a collection.
func (p Planter) Indexes(id catalog.ShardID, ns string) (names []string) {
	_ = p.withCollection(id, ns, func(l *localCollection) error {
		for _, spec := range l.docs.Indexes() {
			names = append(names, spec.Name)
		}
		return nil
	}) // without it there are none
	slices.Sort(names)
	return names
}

// UUIDOf returns the uuid of a collection on one shard; false where there is none.
func (p Planter) UUIDOf(id catalog.ShardID, ns string) (uuid bson.Binary, there bool) {
	_ = p.withCollection(id, ns, func(l *localCollection) error {
		uuid, there = l.uuid, true
		return nil
	})
	return uuid, there
}

// AddIndex makes an index on one shard.
func (p Planter) AddIndex(id catalog.ShardID, ns string, spec store.IndexSpec) error {
	return p.withCollection(id, ns, func(l *localCollection) error { return l.docs.CreateIndex(spec) })
}

// DropIndex takes an index away from one shard.
func (p Planter) DropIndex(id catalog.ShardID, ns, name string) error {
	return p.withCollection(id, ns, func(l *localCollection) error { return l.docs.DropIndex(name) })
}

// SetOptions gives a collection other options on one shard.
func (p Planter) SetOptions(id catalog.ShardID, ns string, options bson.D) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		made := newLocal(l.docs.Language, l.uuid, options, ns)
		l.options, l.validator, l.warnOnly, l.lenient = options, made.validator, made.warnOnly, made.lenient
		return nil
	})
}

// SetUUID gives a collection another identity on one shard.
func (p Planter) SetUUID(id catalog.ShardID, ns string, uuid bson.Binary) error {
	return p.withCollection(id, ns, func(l *localCollection) error {
		l.uuid = uuid
		return nil
	})
}

// ResetChunkHistory has the chunk of a bound forget when it came to its shard, as a restore of config
// from an older backup does: its history begins with another one.
func (p Planter) ResetChunkHistory(ns string, bound bson.Raw, begins catalog.ShardID) error {
	p.c.clock.Lock()
	defer p.c.clock.Unlock()
	coll, err := p.c.config.Sharded(ns)
	if err != nil {
		return err
	}
	key, err := coll.Pattern.Key(bound)
	if err != nil {
		return err
	}
	chunk := p.c.config.table(ns).Find(key)
	chunk.History = []catalog.ChunkHistory{{ValidAfter: chunk.OnCurrentShardSince, Shard: begins}}
	chunk.Version.Minor++
	return p.c.config.tables[ns].Put(chunk)
}

// OverrideConfigChunks makes reads of config.chunks return a collection's chunks as change
// rewrites them, without those for which it returns nil; the routing tables stay as they are. A
// nil change ends that.
func (p Planter) OverrideConfigChunks(ns string, change func(chunk bson.Raw) bson.Raw) {
	p.c.clock.Lock()
	defer p.c.clock.Unlock()
	p.c.configChunks.overrides = map[string]func(bson.Raw) bson.Raw{ns: change}
}
