package mock

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// DatabaseSize is a database with data, as in listDatabases.
type DatabaseSize struct {
	Name    string
	Bytes   int64 // on disk, including indexes
	ByShard []ShardBytes
}

// ShardBytes is the size of a database on one shard or on the config server.
type ShardBytes struct {
	Shard catalog.ShardID
	Bytes int64
}

// shardCatalogBytes is the size of the config database of each shard: its cache of the catalog, range
// deletions, retryable writes. A router does not show these collections, but listDatabases counts them.
const shardCatalogBytes = 22 * StorageUnit

// Databases returns the databases that have data, sorted by name. It always includes admin and config.
func (st *Statistics) Databases() []DatabaseSize {
	sizes := map[string]*DatabaseSize{}
	add := func(name string, id catalog.ShardID, bytes int64) {
		if sizes[name] == nil {
			sizes[name] = &DatabaseSize{Name: name}
		}
		db := sizes[name]
		db.Bytes += bytes
		db.ByShard = append(db.ByShard, ShardBytes{id, bytes})
	}
	for _, name := range []string{"admin", "config"} {
		bytes := int64(0)
		for _, ns := range st.config.namespaces(name) {
			for _, part := range st.configCollection(ns) {
				bytes += part.StoredBytes() + part.IndexBytes()
			}
		}
		add(name, configShard, bytes)
	}
	for _, id := range st.shards.ids() {
		local := map[string]int64{"config": shardCatalogBytes}
		if id == configShard { // the config server is already counted
			delete(local, "config")
		}
		for ns := range st.shards[id].colls {
			part, _ := st.collectionOn(id, ns)
			local[catalog.DatabaseOf(ns)] += part.StoredBytes() + part.IndexBytes()
		}
		for _, name := range slices.Sorted(maps.Keys(local)) {
			add(name, id, local[name])
		}
	}
	var list []DatabaseSize
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		list = append(list, *sizes[name])
	}
	return list
}

// defaultDiskBytes is the default size of a volume. It is doubled until the data fits.
const defaultDiskBytes = 1 << 40

// Volume returns the size of a shard's volume, and its used part, which is the size of the shard's
// databases.
func (st *Statistics) Volume(id catalog.ShardID) (total, used int64) {
	s := st.shards[id]
	if s == nil {
		return 0, 0
	}
	used = shardCatalogBytes
	for ns := range s.colls {
		part, _ := st.collectionOn(id, ns)
		used += part.StoredBytes() + part.IndexBytes()
	}
	if total = s.diskBytes; total == 0 {
		for total = defaultDiskBytes; total < 2*used; total *= 2 {
		}
	}
	return total, min(used, total)
}

// TopologyTime returns the time of the last change of the cluster's shards.
func (c *ConfigDB) TopologyTime() bson.Timestamp {
	var newest bson.Timestamp
	note := func(raw bson.Raw, field string) {
		t, i, ok := raw.Lookup(field).TimestampOK()
		if at := (bson.Timestamp{T: t, I: i}); ok && at.After(newest) {
			newest = at
		}
	}
	for _, raw := range c.Collection(configShards).Scan() {
		note(raw, "topologyTime")
	}
	if raw, ok := c.doc(configRemovals, lastRemoval); ok {
		note(raw, "timestamp")
	}
	return newest
}

// CountViews returns the number of views in a database.
func (st *Statistics) CountViews(db string) int64 {
	n := int64(0)
	for ns := range st.collections.views {
		if catalog.DatabaseOf(ns) == db {
			n++
		}
	}
	return n
}

// DatabaseNames returns the sorted names of the databases in the catalog and on the config server.
func (c *ConfigDB) DatabaseNames() []string {
	names := []string{"admin", "config"}
	for _, raw := range c.Collection(configDatabases).Scan() {
		name, _ := raw.Lookup("_id").StringValueOK()
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// SizeRequest is a request for the size of a collection or a range.
type SizeRequest struct {
	Namespace string
	// KeyPattern is the key of the range; nil or empty stands for the shard key, or for the fields of
	// Min.
	KeyPattern bson.Raw
	Min, Max   bson.Raw // nil for the whole collection
	// Estimate uses the average document size for each document of the range.
	Estimate bool
}

// RangeSize returns the number and total size of documents on the shards that own chunks, including
// orphans (rules/03-commands §1.8).
func (st *Statistics) RangeSize(req SizeRequest) (docs, bytes int64, err error) {
	pattern, err := st.sizePattern(req)
	if err != nil {
		return 0, 0, err
	}
	parts := st.Collection(req.Namespace)
	if req.Min == nil {
		for _, part := range parts {
			docs, bytes = docs+part.Docs, bytes+part.Bytes
		}
		return docs, bytes, nil
	}
	lower, errMin := pattern.ParseKey(req.Min)
	upper, errMax := pattern.ParseKey(req.Max)
	switch {
	case errMin != nil:
		return 0, 0, mongoerr.New(mongoerr.BadValue, "min value %s does not have shard key", req.Min)
	case errMax != nil:
		return 0, 0, mongoerr.New(mongoerr.BadValue, "max value %s does not have shard key", req.Max)
	}
	for _, part := range parts {
		n, size, err := st.rangeSizeOn(part, req.Namespace, pattern, lower, upper)
		if err != nil {
			return 0, 0, err
		}
		if req.Estimate && part.Docs > 0 {
			size = part.Bytes / part.Docs * n
		}
		docs, bytes = docs+n, bytes+size
	}
	return docs, bytes, nil
}

// sizePattern returns the key pattern of the range.
func (st *Statistics) sizePattern(req SizeRequest) (catalog.KeyPattern, error) {
	coll, sharded, err := st.config.ShardedEntry(req.Namespace)
	if err != nil {
		return catalog.KeyPattern{}, err
	}
	switch {
	case len(catalog.FieldNames(req.KeyPattern)) > 0:
		asked, err := catalog.ParseKeyPattern(req.KeyPattern)
		if sharded && (err != nil || !asked.Equal(coll.Pattern)) {
			err = mongoerr.New(mongoerr.BadValue, "keyPattern must be empty or must be an object that equals the shard key")
		}
		return asked, err
	case sharded || req.Min == nil:
		return coll.Pattern, nil
	}
	return unshardedBoundsPattern(req.Min, req.Max)
}

// rangeSizeOn returns the size of a range on one shard or on the config server. It fails without an index
// that begins with the key.
func (st *Statistics) rangeSizeOn(part LocalStats, ns string, pattern catalog.KeyPattern,
	lower, upper catalog.Key,
) (docs, bytes int64, err error) {
	l := st.shards.collection(part.Shard, ns)
	if held := st.config.existingCollection(ns); l == nil && held != nil {
		l = &localCollection{docs: held}
	}
	noIndex := mongoerr.New(mongoerr.OperationFailed, "couldn't find valid index containing key pattern: %s",
		pattern.Doc())
	if l == nil {
		return 0, 0, noIndex
	}
	if _, found := l.shardKeyIndex(pattern); !found {
		return 0, 0, noIndex
	}
	for record := range l.documentsInRange(pattern, lower, upper) {
		doc, _ := l.docs.Get(record)
		docs++
		bytes += int64(len(doc))
	}
	virtualDocs, virtualBytes := l.virtual.sumIn(pattern, lower, upper)
	return docs + virtualDocs, bytes + virtualBytes, nil
}

// HostsOf returns the connection strings of the shards that have a collection.
func (st *Statistics) HostsOf(ns string) []string {
	var hosts []string
	for _, id := range st.shardsWithCollection(ns) {
		hosts = append(hosts, st.addresses.HostOf(id))
	}
	return hosts
}

// IndexEntries returns a collection's UUID on a shard and the number of keys of each index there.
func (st *Statistics) IndexEntries(ns string, id catalog.ShardID) (uuid bson.Binary, entries map[string]int64) {
	if l := st.shards.collection(id, ns); l != nil {
		return l.uuid, l.docs.IndexEntryCounts()
	}
	if docs := st.config.existingCollection(ns); docs != nil {
		return st.config.uuid(ns), docs.IndexEntryCounts()
	}
	return st.config.uuid(ns), nil
}
