package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// replace takes a change of a config.chunks document by hand, as an
// administrator makes it to take a jumbo flag away: the routing table has it
// at once. Where a chunk begins and ends, whose it is and its _id can't be
// changed: the table would have a gap.
func (cks Chunks) replace(before, after bson.Raw) error {
	coll, ok, err := cks.c.config.collectionOf(before.Lookup("uuid"))
	if err != nil {
		return err
	}
	if !ok {
		return mongoerr.New(mongoerr.NamespaceNotFound, "the chunk's collection is gone")
	}
	for _, field := range []string{"_id", "uuid", "min", "max"} {
		if !before.Lookup(field).Equal(after.Lookup(field)) {
			return errByHand(chunksNamespace+"."+field, "split, mergeChunks and moveRange")
		}
	}
	changed, err := catalog.ParseChunk(coll.Pattern, after)
	if err != nil {
		return err
	}
	if cks.c.shards[changed.Shard] == nil {
		return errByHand(chunksNamespace, "the id of a shard there is")
	}
	return cks.exchange(coll, changed)
}

// collectionOf finds a tracked collection by the UUID its chunks carry.
func (cfg *ConfigDB) collectionOf(uuid bson.RawValue) (catalog.Collection, bool, error) {
	for _, raw := range cfg.Collection(configCollections).Scan() {
		if raw.Lookup("uuid").Equal(uuid) {
			ns, _ := raw.Lookup("_id").StringValueOK()
			return cfg.Tracked(ns)
		}
	}
	return catalog.Collection{}, false, nil
}

// exchange builds the table anew: unlike those of commands, a version by
// hand may be older than the one before.
func (cks Chunks) exchange(coll catalog.Collection, changed catalog.Chunk) error {
	old := cks.c.config.tables[coll.Namespace]
	chunks := slices.Collect(old.All())
	at := old.IndexOf(changed.Min)
	for i, chunk := range chunks {
		if i != at && chunk.Version == changed.Version {
			return mongoerr.New(mongoerr.DuplicateKey, "E11000 duplicate key error collection: config.chunks index: uuid_1_lastmod_1 dup key: { lastmod: Timestamp(%d, %d) }",
				chunk.Version.Major, chunk.Version.Minor)
		}
	}
	chunks[at] = changed
	table, err := catalog.NewRoutingTable(coll.Pattern, old.Epoch(), old.Timestamp(), slices.Values(chunks))
	if err != nil {
		return err
	}
	for _, id := range old.Owners() {
		if like := cks.c.shards[id].colls[coll.Namespace]; like != nil {
			cks.c.collections.spread(coll.Namespace, like, table)
			break
		}
	}
	cks.c.config.tables[coll.Namespace] = table
	return nil
}

// putChunks writes changed chunks of a tracked collection into the catalog,
// all or none.
func (cfg *ConfigDB) putChunks(ns string, changed ...catalog.Chunk) error {
	next, err := cfg.tables[ns].Apply(changed)
	if err != nil {
		return err
	}
	cfg.tables[ns] = next
	return nil
}

// setJumbo writes a chunk's jumbo flag without a new version.
func (cfg *ConfigDB) setJumbo(ns string, min catalog.Key, flag catalog.Jumbo) error {
	table := cfg.tables[ns]
	if table == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	chunk := table.Find(min)
	if !chunk.Min.Equal(min) {
		return mongoerr.New(mongoerr.NoMatchingDocument, "no chunk begins at %s", table.Pattern().Bound(min))
	}
	chunk.Jumbo = flag
	return cfg.putChunks(ns, chunk)
}

// ClearJumbo removes a chunk's jumbo flag and gives it a new major version
// (spec 02 §6.7); a chunk without the flag stays as it is. coll is the
// collection as the router knows it.
func (cfg *ConfigDB) ClearJumbo(known catalog.Collection, min, max catalog.Key) error {
	ns := known.Namespace
	coll, ok, err := cfg.Tracked(ns)
	switch {
	case err != nil:
		return err
	case !ok || coll.Unsplittable:
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case coll.Epoch != known.Epoch:
		return errStaleEpoch(ns)
	}
	table := cfg.tables[ns]
	chunk := table.Find(min)
	if !chunk.Min.Equal(min) || !chunk.Max.Equal(max) {
		return mongoerr.New(mongoerr.ClearJumboChunkVanished, "no chunk of %s with these bounds", ns)
	}
	if chunk.Jumbo != catalog.JumboTrue {
		return nil
	}
	chunk.Jumbo = catalog.JumboUnset
	chunk.Version = catalog.ChunkVersion{Major: table.Version().Major + 1}
	return cfg.putChunks(ns, chunk)
}

// BumpVersion gives the newest chunk the next minor version, as metadata
// writes do (spec 02 §6.3).
func (cfg *ConfigDB) BumpVersion(ns string) error {
	table := cfg.tables[ns]
	if table == nil {
		return nil
	}
	chunk := table.Newest()
	chunk.Version.Minor++
	return cfg.putChunks(ns, chunk)
}
