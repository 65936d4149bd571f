package mock

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// entries are config documents as the cluster understands them. The documents
// are the truth; what was made of them is kept until one is written. Every
// step of every migration asks for them.
type entries struct {
	shards    shardList
	colls     collectionEntries
	primaries primaries
}

// asOf tells of which collection something was made, and when.
type asOf struct {
	docs   *store.Collection
	writes uint64
}

// outdated reports whether documents were written since, or others took their
// place, and takes note of those there are now.
func (a *asOf) outdated(docs *store.Collection) bool {
	now := asOf{docs, docs.Writes()}
	if *a == now {
		return false
	}
	*a = now
	return true
}

// shardList is config.shards, by id; err is that of a document that makes no
// sense.
type shardList struct {
	asOf
	list   []catalog.Shard
	differ bool // all are known to be there, with machine ids that differ
	err    error
}

// shardList is config.shards, not to be changed.
func (cfg *ConfigDB) shardList() ([]catalog.Shard, error) {
	docs, known := cfg.data(shardsNamespace), &cfg.entries.shards
	if !known.outdated(docs) {
		return known.list, known.err
	}
	*known = shardList{asOf: known.asOf}
	for raw := range docs.Documents() {
		s, err := catalog.ParseShard(raw)
		if err != nil {
			known.list, known.err = nil, err
			return nil, err
		}
		known.list = append(known.list, s)
	}
	slices.SortFunc(known.list, func(a, b catalog.Shard) int { return cmp.Compare(a.ID, b.ID) })
	return known.list, nil
}

// primaries are the primary shards of the databases that were asked for.
type primaries struct {
	asOf
	of map[string]catalog.ShardID
}

// Primary returns the primary shard of a database; false when it is unknown.
func (cfg *ConfigDB) Primary(db string) (catalog.ShardID, bool) {
	docs, known := cfg.collections["config."+configDatabases], &cfg.entries.primaries
	if docs == nil {
		return "", false
	}
	if known.outdated(docs) {
		known.of = map[string]catalog.ShardID{}
	}
	if id, ok := known.of[db]; ok {
		return id, true
	}
	raw, ok := cfg.doc(configDatabases, db)
	if !ok {
		return "", false
	}
	primary, _ := raw.Lookup("primary").StringValueOK()
	known.of[db] = catalog.ShardID(primary)
	return known.of[db], true
}

// collectionEntries are the entries of config.collections that were asked for.
type collectionEntries struct {
	asOf
	byNamespace map[string]collectionEntry
	sharded     []catalog.Collection // by namespace
	listed      bool                 // sharded is made
}

type collectionEntry struct {
	coll catalog.Collection
	err  error
}

// collectionEntry returns a namespace's entry in config.collections; false when
// there is none.
func (cfg *ConfigDB) collectionEntry(ns string) (catalog.Collection, bool, error) {
	known := cfg.collectionEntries()
	if e, ok := known.byNamespace[ns]; ok {
		return e.coll, true, e.err
	}
	raw, ok := cfg.doc(configCollections, ns)
	if !ok || isDropped(raw) {
		return catalog.Collection{}, false, nil
	}
	coll, err := known.parse(ns, raw)
	return coll, true, err
}

func (cfg *ConfigDB) collectionEntries() *collectionEntries {
	known := &cfg.entries.colls
	if known.outdated(cfg.data(collectionsNamespace)) {
		known.byNamespace = map[string]collectionEntry{}
		known.sharded, known.listed = nil, false
	}
	return known
}

// shardedCollections returns the sharded collections by namespace, not to be
// changed.
func (cfg *ConfigDB) shardedCollections() ([]catalog.Collection, error) {
	known := cfg.collectionEntries()
	if known.listed {
		return known.sharded, nil
	}
	var colls []catalog.Collection
	for raw := range known.docs.Documents() {
		if isDropped(raw) {
			continue
		}
		ns, _ := raw.Lookup("_id").StringValueOK() // an _id of another type is no namespace
		coll, err := known.parse(ns, raw)
		if err != nil {
			return nil, err
		}
		if !coll.Unsplittable {
			colls = append(colls, coll)
		}
	}
	slices.SortFunc(colls, func(a, b catalog.Collection) int { return cmp.Compare(a.Namespace, b.Namespace) })
	known.sharded, known.listed = colls, true
	return colls, nil
}

// parse reads an entry, if it was not read before.
func (known *collectionEntries) parse(ns string, raw bson.Raw) (catalog.Collection, error) {
	e, ok := known.byNamespace[ns]
	if !ok {
		e.coll, e.err = catalog.ParseCollection(raw)
		known.byNamespace[ns] = e
	}
	return e.coll, e.err
}
