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

// entryCache caches parsed config documents, because every step of every migration needs them. The
// documents are authoritative; a cache is valid until its collection is written.
type entryCache struct {
	shards    shardList
	colls     collectionEntries
	primaries primaries
}

// cacheSource identifies the state of the collection from which a cache was built.
type cacheSource struct {
	docs   *store.Collection
	writes uint64
}

// recordIfChanged reports whether the collection was written or replaced since the last call, and
// records its current state.
func (c *cacheSource) recordIfChanged(docs *store.Collection) bool {
	now := cacheSource{docs, docs.Writes()}
	if *c == now {
		return false
	}
	*c = now
	return true
}

// shardList caches config.shards sorted by id; err is the error of an invalid document.
type shardList struct {
	cacheSource
	list             []catalog.Shard
	machineIDsDiffer bool // known: the machine ids of all shards differ
	err              error
}

// shardList returns the cached shards, which the caller must not change.
func (c *ConfigDB) shardList() ([]catalog.Shard, error) {
	docs, known := c.ensureCollection(shardsNamespace), &c.entries.shards
	if !known.recordIfChanged(docs) {
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

// primaries caches the primary shards of the databases that were read.
type primaries struct {
	cacheSource
	byDatabase map[string]catalog.ShardID
}

// Primary returns the primary shard of a database, and false if the database is unknown.
func (c *ConfigDB) Primary(db string) (catalog.ShardID, bool) {
	docs, known := c.collections["config."+configDatabases], &c.entries.primaries
	if docs == nil {
		return "", false
	}
	if known.recordIfChanged(docs) {
		known.byDatabase = map[string]catalog.ShardID{}
	}
	if id, ok := known.byDatabase[db]; ok {
		return id, true
	}
	raw, ok := c.doc(configDatabases, db)
	if !ok {
		return "", false
	}
	primary, _ := raw.Lookup("primary").StringValueOK()
	known.byDatabase[db] = catalog.ShardID(primary)
	return known.byDatabase[db], true
}

// collectionEntries caches the entries of config.collections that were read.
type collectionEntries struct {
	cacheSource
	byNamespace   map[string]collectionEntry
	sharded       []catalog.Collection // sorted by namespace
	shardedCached bool                 // sharded is complete
}

type collectionEntry struct {
	coll catalog.Collection
	err  error
}

// collectionEntry returns a namespace's entry in config.collections, and false if there is none.
func (c *ConfigDB) collectionEntry(ns string) (catalog.Collection, bool, error) {
	known := c.collectionEntries()
	if e, ok := known.byNamespace[ns]; ok {
		return e.coll, true, e.err
	}
	raw, ok := c.doc(configCollections, ns)
	if !ok || isDropped(raw) {
		return catalog.Collection{}, false, nil
	}
	coll, err := known.parse(ns, raw)
	return coll, true, err
}

func (c *ConfigDB) collectionEntries() *collectionEntries {
	known := &c.entries.colls
	if known.recordIfChanged(c.ensureCollection(collectionsNamespace)) {
		known.byNamespace = map[string]collectionEntry{}
		known.sharded, known.shardedCached = nil, false
	}
	return known
}

// ShardedCollections returns the sharded collections sorted by namespace.
func (c *ConfigDB) ShardedCollections() ([]catalog.Collection, error) {
	colls, err := c.shardedCollections()
	return slices.Clone(colls), err
}

// shardedCollections returns the sharded collections sorted by namespace, which the caller must not
// change.
func (c *ConfigDB) shardedCollections() ([]catalog.Collection, error) {
	known := c.collectionEntries()
	if known.shardedCached {
		return known.sharded, nil
	}
	var colls []catalog.Collection
	for raw := range known.docs.Documents() {
		if isDropped(raw) {
			continue
		}
		ns, _ := raw.Lookup("_id").StringValueOK() // "" for an _id of another type, which is not a namespace
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

// parse returns the parsed entry and caches it.
func (c *collectionEntries) parse(ns string, raw bson.Raw) (catalog.Collection, error) {
	e, ok := c.byNamespace[ns]
	if !ok {
		e.coll, e.err = catalog.ParseCollection(raw)
		c.byNamespace[ns] = e
	}
	return e.coll, e.err
}

// Clients may write to the config database through a mongos. A direct write that would break the mock is
// rejected if there is a command for the change.

func errDirectWrite(ns, instead string) error {
	return mongoerr.New(mongoerr.IllegalOperation, "the mock does not allow direct writes to %s: use %s", ns, instead)
}

func errDirectChunkWrite() error {
	return errDirectWrite(chunksNamespace, "split, mergeChunks and moveRange")
}

// configWriter executes direct writes of clients to the config database.
type configWriter struct {
	config *ConfigDB
	chunks *Chunks
	shards shardSet
	ids    *ids.Source
}

func (env *environment) configWriter() configWriter {
	return configWriter{env.config, env.chunks, env.shards, env.ids}
}

func (c configWriter) insert(ns string, doc bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		return errDirectChunkWrite()
	case "config." + configCollections:
		return errDirectWrite(ns, "shardCollection")
	case "config." + configDatabases:
		err = c.checkPrimary(ns, doc)
	case "config." + configSettings:
		err = c.config.CheckSettings(doc)
	}
	if err != nil {
		return err
	}
	if ns == "config."+configShards {
		shard, err := catalog.ParseShard(doc)
		if err != nil {
			return err
		}
		if c.shards[shard.ID] == nil {
			c.shards[shard.ID] = newShard(shard.ID)
		}
	}
	_, err = c.config.ensureCollection(ns).Insert(doc)
	c.ids.Tick()
	return err
}

func (c configWriter) replace(ns string, p documentChange, after bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		defer c.ids.Tick()
		return c.chunks.replaceChunkDocument(p.doc, after)
	case "config." + configCollections:
		fixed := []string{"key", "uuid", "lastmodEpoch", "timestamp", "unique"}
		if c.config.release.HasChunksByNamespace() {
			fixed = append(fixed, "dropped")
		}
		for _, field := range fixed {
			if !p.doc.Lookup(field).Equal(after.Lookup(field)) {
				return errDirectWrite(ns, "shardCollection")
			}
		}
	case "config." + configDatabases:
		err = c.checkPrimary(ns, after)
	case "config." + configSettings:
		err = c.config.CheckSettings(after)
	}
	if err != nil {
		return err
	}
	c.ids.Tick()
	return p.docs.Update(p.record, after)
}

// checkPrimary checks that the primary in a database's entry is an existing shard.
func (c configWriter) checkPrimary(ns string, doc bson.Raw) error {
	primary, _ := doc.Lookup("primary").StringValueOK()
	if c.shards[catalog.ShardID(primary)] == nil {
		return errDirectWrite(ns, "enableSharding with the id of an existing shard")
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

// replaceChunkDocument applies a direct change of a config.chunks document to the routing table.
// Administrators clear the jumbo flag in this way. The bounds, the shard and the _id cannot be changed,
// because this would leave a gap in the table.
func (c *Chunks) replaceChunkDocument(before, after bson.Raw) error {
	coll, ok, err := c.configChunks.collectionOf(before)
	if err != nil {
		return err
	}
	if !ok {
		return mongoerr.New(mongoerr.NamespaceNotFound, "the chunk's collection is gone")
	}
	form := c.configChunks.format()
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
	if form.release.HasTextChunkIDs() { // then the stored _id differs
		changed.ID = c.config.Table(coll.Namespace).Find(changed.Min).ID
	}
	if c.shards[changed.Shard] == nil {
		return errDirectWrite(chunksNamespace, "the id of an existing shard")
	}
	return c.rebuildTable(coll, changed)
}

// rebuildTable rebuilds the routing table. Unlike in commands, a version set by hand may be lower than
// the previous one.
func (c *Chunks) rebuildTable(coll catalog.Collection, changed catalog.Chunk) error {
	old := c.config.Table(coll.Namespace)
	chunks := slices.Collect(old.All())
	at := old.IndexOf(changed.Min)
	for i, chunk := range chunks {
		if i != at && chunk.Version == changed.Version {
			return mongoerr.New(mongoerr.DuplicateKey, "E11000 duplicate key error collection: config.chunks index: "+
				"%s_1_lastmod_1 dup key: { lastmod: Timestamp(%d, %d) }",
				c.configChunks.format().ownerField(), chunk.Version.Major, chunk.Version.Minor)
		}
	}
	chunks[at] = changed
	table, err := catalog.NewRoutingTable(coll.Pattern, old.Epoch(), old.Timestamp(), slices.Values(chunks))
	if err != nil {
		return err
	}
	for _, id := range old.Owners() {
		if like := c.shards[id].colls[coll.Namespace]; like != nil {
			c.collections.createOnOwners(coll.Namespace, like, table)
			break
		}
	}
	c.config.setTable(coll.Namespace, table)
	return nil
}
