package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// initialConfigCollections returns the collections of the config database of a new cluster.
func initialConfigCollections() []string {
	return []string{
		configShards, configDatabases, configCollections, configTags, configSettings, configChangelog, configActionlog,
		configPlacement, configReshardings, configVersion, configMongos,
	}
}

// extraConfigCollections80 returns further collections of 8.0, which stay empty in the mock (recorded).
func extraConfigCollections80() []string {
	return []string{
		"analyzeShardKeySplitPoints", "image_collection", "rangeDeletions", "sampledQueries", "sampledQueriesDiff",
		"sharding_configsvr_coordinators", "system.indexBuilds", "system.preimages", "transactions", configParameters,
	}
}

// createConfig creates the initial contents of the config server (rules/03-catalog-and-keys §3).
func (tb topologyBuilder) createConfig() error {
	for _, name := range initialConfigCollections() {
		tb.c.config.Collection(name)
	}
	if tb.c.release.FCVAtLeast(catalog.Release80) {
		for _, name := range extraConfigCollections80() {
			tb.c.config.Collection(name)
		}
	}
	if err := tb.c.config.createIndexes(); err != nil {
		return err
	}
	if err := tb.c.config.buildLocks(); err != nil {
		return err
	}
	if err := tb.c.config.insert(configVersion, bson.D{{Key: "_id", Value: int32(1)},
		{Key: "clusterId", Value: tb.c.ids.NewObjectID()}}); err != nil {
		return err
	}
	if err := tb.c.config.fcv.create(tb.c.release); err != nil {
		return err
	}
	if tb.c.release.FCVAtLeast(catalog.Release70) {
		// The row with an empty namespace marks the time from which on the history is complete.
		tb.c.log.writePlacement("", nil, tb.c.ids.Tick(), nil)
	}
	return tb.c.routers.insert(routerName)
}

// configIndex returns an index of the config database on the given fields.
func configIndex(name string, unique bool, fields ...string) store.IndexSpec {
	key := bsoncore.NewDocumentBuilder()
	for _, f := range fields {
		key = key.AppendInt32(f, 1)
	}
	return store.IndexSpec{Name: name, Key: bson.Raw(key.Build()), Unique: unique}
}

// indexes returns the indexes of config.chunks (rules/03-catalog-and-keys §3; by namespace,
// SERVER-53255).
func (f chunkFormat) indexes() []store.IndexSpec {
	owner := f.ownerField()
	list := []store.IndexSpec{
		configIndex("_id_", false, "_id"),
		configIndex(owner+"_1_min_1", true, owner, "min"),
		configIndex(owner+"_1_shard_1_min_1", true, owner, "shard", "min"),
		configIndex(owner+"_1_lastmod_1", true, owner, "lastmod"),
	}
	if f.release.AutoMerges() {
		list = append(list,
			configIndex(owner+"_1_shard_1_onCurrentShardSince_1", false, owner, "shard", "onCurrentShardSince"))
	}
	return list
}

// newCollectionEntry returns a new entry of config.collections without its version, which setEntryVersion sets.
func (c *ConfigDB) newCollectionEntry(ns string, uuid bson.Binary, key bson.Raw, unique bool) bson.D {
	if c.release.HasChunksByNamespace() {
		return bson.D{
			{Key: "_id", Value: ns}, {Key: "lastmodEpoch"}, {Key: "lastmod"}, {Key: "dropped", Value: false},
			{Key: "key", Value: key}, {Key: "unique", Value: unique}, {Key: "uuid", Value: uuid},
		}
	}
	return bson.D{
		{Key: "_id", Value: ns}, {Key: "lastmodEpoch"}, {Key: "lastmod"}, {Key: "timestamp"},
		{Key: "uuid", Value: uuid}, {Key: "key", Value: key}, {Key: "unique", Value: unique},
		{Key: "noBalance", Value: false},
	}
}

// setEntryVersion sets a new version in a collection's entry.
func (c *ConfigDB) setEntryVersion(entry *bson.D, epoch bson.ObjectID, at bson.Timestamp) {
	setDocField(entry, "lastmodEpoch", epoch)
	setDocField(entry, "lastmod", bson.NewDateTimeFromTime(c.clock.Now()))
	if !c.release.HasChunksByNamespace() {
		setDocField(entry, "timestamp", at)
	}
}

// dropCollectionEntry removes a collection from config.collections, or marks its entry as dropped in releases
// before 5.0.
func (c *ConfigDB) dropCollectionEntry(ns string) {
	c.remove(configCollections, ns)
	if !c.release.HasChunksByNamespace() {
		return
	}
	gone, err := catalog.DroppedEntry(ns, c.clock.Now())
	if err == nil {
		_, err = c.Collection(configCollections).Insert(gone)
	}
	if err != nil {
		c.logger.Warn("a dropped collection left no entry", "ns", ns, "error", err)
	}
}

// newDatabaseEntry returns a new entry of config.databases.
func (c *ConfigDB) newDatabaseEntry(name string, primary catalog.ShardID, uuid bson.Binary, at bson.Timestamp,
	partitioned bool) bson.D {
	entry := bson.D{{Key: "_id", Value: name}, {Key: "primary", Value: string(primary)}}
	if c.release.MarksPartitioned() {
		entry = append(entry, bson.E{Key: "partitioned", Value: partitioned})
	}
	if !c.release.HasDatabaseVersions() {
		return entry
	}
	version := bson.D{{Key: "uuid", Value: uuid}, {Key: "timestamp", Value: at}, {Key: "lastMod", Value: int32(1)}}
	if c.release.HasChunksByNamespace() {
		version = slices.Delete(version, 1, 2)
	}
	return append(entry, bson.E{Key: "version", Value: version})
}

// newShardEntry returns a new entry of config.shards.
func (c *ConfigDB) newShardEntry(id, host string, at bson.Timestamp) bson.D {
	entry := bson.D{{Key: "_id", Value: id}, {Key: "host", Value: host}}
	if c.release.HasConfigServerBalancer() { // shards know of each other since 3.4
		entry = append(entry, bson.E{Key: "state", Value: int32(1)})
	}
	if c.release.HasChunksByNamespace() {
		return entry
	}
	return append(entry, bson.E{Key: "topologyTime", Value: at}, bson.E{Key: "replSetConfigVersion", Value: int64(-1)})
}

// placementIndex returns the index that finds the newest row of a namespace.
func placementIndex() store.IndexSpec {
	key := bsoncore.NewDocumentBuilder().AppendInt32("nss", 1).AppendInt32("timestamp", -1)
	return store.IndexSpec{Name: "nss_1_timestamp_-1", Key: bson.Raw(key.Build()), Unique: true}
}

// createIndexes creates the indexes of the stored collections (rules/03-catalog-and-keys §3).
func (c *ConfigDB) createIndexes() error {
	for name, specs := range map[string][]store.IndexSpec{
		configShards: {configIndex("host_1", true, "host")},
		configTags:   {configIndex("ns_1_min_1", true, "ns", "min"), configIndex("ns_1_tag_1", false, "ns", "tag")},

		configPlacement: {placementIndex()},
	} {
		for _, spec := range specs {
			if err := c.Collection(name).CreateIndex(spec); err != nil {
				return err
			}
		}
	}
	return nil
}
