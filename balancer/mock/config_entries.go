package mock

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// entries caches parsed config documents. The documents
// are authoritative; the cache is valid until one is written. Every
// step of every migration asks for them.
type entries struct {
	shards    shardList
	colls     collectionEntries
	primaries primaries
}

// cacheSource identifies the state of a collection that a cache was built from.
type cacheSource struct {
	docs   *store.Collection
	writes uint64
}

// refreshIfChanged reports whether the collection was written or replaced since, and
// records the current state.
func (a *cacheSource) refreshIfChanged(docs *store.Collection) bool {
	now := cacheSource{docs, docs.Writes()}
	if *a == now {
		return false
	}
	*a = now
	return true
}

// shardList is config.shards, by id; err is the error of a malformed
// document.
type shardList struct {
	cacheSource
	list             []catalog.Shard
	machineIDsDiffer bool // all are known to be there, with machine ids that differ
	err              error
}

// shardList is config.shards, not to be changed.
func (cfg *ConfigDB) shardList() ([]catalog.Shard, error) {
	docs, known := cfg.ensureCollection(shardsNamespace), &cfg.entries.shards
	if !known.refreshIfChanged(docs) {
		return known.list, known.err
	}
	*known = shardList{cacheSource: known.cacheSource}
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
	cacheSource
	byDatabase map[string]catalog.ShardID
}

// Primary returns the primary shard of a database; false when it is unknown.
func (cfg *ConfigDB) Primary(db string) (catalog.ShardID, bool) {
	docs, known := cfg.collections["config."+configDatabases], &cfg.entries.primaries
	if docs == nil {
		return "", false
	}
	if known.refreshIfChanged(docs) {
		known.byDatabase = map[string]catalog.ShardID{}
	}
	if id, ok := known.byDatabase[db]; ok {
		return id, true
	}
	raw, ok := cfg.doc(configDatabases, db)
	if !ok {
		return "", false
	}
	primary, _ := raw.Lookup("primary").StringValueOK()
	known.byDatabase[db] = catalog.ShardID(primary)
	return known.byDatabase[db], true
}

// collectionEntries are the entries of config.collections that were asked for.
type collectionEntries struct {
	cacheSource
	byNamespace   map[string]collectionEntry
	sharded       []catalog.Collection // by namespace
	shardedCached bool                 // sharded is made
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
	if known.refreshIfChanged(cfg.ensureCollection(collectionsNamespace)) {
		known.byNamespace = map[string]collectionEntry{}
		known.sharded, known.shardedCached = nil, false
	}
	return known
}

// shardedCollections returns the sharded collections by namespace, not to be
// changed.
func (cfg *ConfigDB) shardedCollections() ([]catalog.Collection, error) {
	known := cfg.collectionEntries()
	if known.shardedCached {
		return known.sharded, nil
	}
	var colls []catalog.Collection
	for raw := range known.docs.Documents() {
		if isDropped(raw) {
			continue
		}
		ns, _ := raw.Lookup("_id").StringValueOK() // an _id of another type is not a namespace
		coll, err := known.parse(ns, raw)
		if err != nil {
			return nil, err
		}
		if !coll.Unsplittable {
			colls = append(colls, coll)
		}
	}
	slices.SortFunc(colls, func(a, b catalog.Collection) int { return cmp.Compare(a.Namespace, b.Namespace) })
	known.sharded, known.shardedCached = colls, true
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

// The config database may be written through a mongos. What would break the
// mock when written by hand, and has a command, is refused.

func errDirectWrite(ns, instead string) error {
	return mongoerr.New(mongoerr.IllegalOperation, "%s can't be written by hand in the mock: use %s", ns, instead)
}

func errDirectChunkWrite() error {
	return errDirectWrite(chunksNamespace, "split, mergeChunks and moveRange")
}

// configWriter writes to the config database for a client, without a command for it.
type configWriter struct {
	config *ConfigDB
	chunks *Chunks
	shards shardSet
	ids    *ids.Source
}

func (env *environment) configWriter() configWriter {
	return configWriter{env.config, env.chunks, env.shards, env.ids}
}

func (h configWriter) insert(ns string, doc bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		return errDirectChunkWrite()
	case "config." + configCollections:
		return errDirectWrite(ns, "shardCollection")
	case "config." + configDatabases:
		err = h.checkPrimary(ns, doc)
	case "config." + configSettings:
		err = h.config.CheckSettings(doc)
	}
	if err != nil {
		return err
	}
	if ns == "config."+configShards {
		shard, err := catalog.ParseShard(doc)
		if err != nil {
			return err
		}
		if h.shards[shard.ID] == nil {
			h.shards[shard.ID] = newShard(shard.ID)
		}
	}
	_, err = h.config.ensureCollection(ns).Insert(doc)
	h.ids.Tick()
	return err
}

func (h configWriter) replace(ns string, p documentChange, after bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		defer h.ids.Tick()
		return h.chunks.replaceChunkDocument(p.doc, after)
	case "config." + configCollections:
		fixed := []string{"key", "uuid", "lastmodEpoch", "timestamp", "unique"}
		if h.config.release.ChunksByNamespace() {
			fixed = append(fixed, "dropped")
		}
		for _, field := range fixed {
			if !p.doc.Lookup(field).Equal(after.Lookup(field)) {
				return errDirectWrite(ns, "shardCollection")
			}
		}
	case "config." + configDatabases:
		err = h.checkPrimary(ns, after)
	case "config." + configSettings:
		err = h.config.CheckSettings(after)
	}
	if err != nil {
		return err
	}
	h.ids.Tick()
	return p.docs.Update(p.record, after)
}

// checkPrimary demands that a database's entry names a shard there is.
func (h configWriter) checkPrimary(ns string, doc bson.Raw) error {
	primary, _ := doc.Lookup("primary").StringValueOK()
	if h.shards[catalog.ShardID(primary)] == nil {
		return errDirectWrite(ns, "enableSharding with a shard there is")
	}
	return nil
}

func checkConfigDelete(ns string) error {
	switch ns {
	case chunksNamespace:
		return errDirectChunkWrite()
	case "config." + configCollections:
		return errDirectWrite(ns, "drop")
	}
	return nil
}

// replaceChunkDocument takes a change of a config.chunks document by hand, as an
// administrator makes it to take a jumbo flag away: the routing table has it
// at once. Where a chunk begins and ends, whose it is and its _id can't be
// changed: the table would have a gap.
func (cks *Chunks) replaceChunkDocument(before, after bson.Raw) error {
	coll, ok, err := cks.configChunks.collectionOf(before)
	if err != nil {
		return err
	}
	if !ok {
		return mongoerr.New(mongoerr.NamespaceNotFound, "the chunk's collection is gone")
	}
	form := cks.configChunks.form()
	fixed := []string{"_id", form.ownerField(), "min", "max"}
	if form.byNamespace {
		fixed = append(fixed, "lastmodEpoch")
	}
	for _, field := range fixed {
		if !before.Lookup(field).Equal(after.Lookup(field)) {
			return errDirectWrite(chunksNamespace+"."+field, "split, mergeChunks and moveRange")
		}
	}
	changed, err := catalog.ParseChunk(coll.Pattern, after)
	if err != nil {
		return err
	}
	if form.release.HasChunkNames() { // the _id does not tell the one that is kept
		changed.ID = cks.config.table(coll.Namespace).Find(changed.Min).ID
	}
	if cks.shards[changed.Shard] == nil {
		return errDirectWrite(chunksNamespace, "the id of a shard there is")
	}
	return cks.rebuildTable(coll, changed)
}

// rebuildTable builds the table again: unlike those of commands, a version by
// hand may be older than the one before.
func (cks *Chunks) rebuildTable(coll catalog.Collection, changed catalog.Chunk) error {
	old := cks.config.table(coll.Namespace)
	chunks := slices.Collect(old.All())
	at := old.IndexOf(changed.Min)
	for i, chunk := range chunks {
		if i != at && chunk.Version == changed.Version {
			return mongoerr.New(mongoerr.DuplicateKey, "E11000 duplicate key error collection: config.chunks index: "+
				"%s_1_lastmod_1 dup key: { lastmod: Timestamp(%d, %d) }",
				cks.configChunks.form().ownerField(), chunk.Version.Major, chunk.Version.Minor)
		}
	}
	chunks[at] = changed
	table, err := catalog.NewRoutingTable(coll.Pattern, old.Epoch(), old.Timestamp(), slices.Values(chunks))
	if err != nil {
		return err
	}
	for _, id := range old.Owners() {
		if like := cks.shards[id].colls[coll.Namespace]; like != nil {
			cks.collections.createOnOwners(coll.Namespace, like, table)
			break
		}
	}
	cks.config.setTable(coll.Namespace, table)
	return nil
}
