package mock

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// configFromStart returns the collections that the config database has before
// anything has happened.
func configFromStart() []string {
	return []string{
		configShards, configDatabases, configCollections, configTags, configSettings, configChangelog, configActionlog,
		configPlacement, configReshardings, configVersion, configMongos,
	}
}

// configFromStart80 returns those of 8.0 that stay empty here: as recorded.
func configFromStart80() []string {
	return []string{
		"analyzeShardKeySplitPoints", "image_collection", "rangeDeletions", "sampledQueries", "sampledQueriesDiff",
		"sharding_configsvr_coordinators", "system.indexBuilds", "system.preimages", "transactions", configParameters,
	}
}

// config puts into the config server what a new cluster's has (spec 03
// §3).
func (tb topologyBuilder) config() error {
	for _, name := range configFromStart() {
		tb.c.config.Collection(name)
	}
	if tb.c.release.AtLeast(catalog.Release80) {
		for _, name := range configFromStart80() {
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
		{Key: "clusterId", Value: tb.c.NewObjectID()}}); err != nil {
		return err
	}
	if err := tb.compatibility(); err != nil {
		return err
	}
	if tb.c.release.AtLeast(catalog.Release70) {
		// The row without a name marks since when the rows below are complete.
		tb.c.log.placement("", nil, tb.c.Tick(), nil)
	}
	now := bson.NewDateTimeFromTime(tb.c.now())
	return tb.c.config.insert(configMongos, bson.D{
		{Key: "_id", Value: routerName},
		{Key: "advisoryHostFQDNs", Value: bson.A{}},
		{Key: "created", Value: now},
		{Key: "mongoVersion", Value: tb.c.Version()},
		{Key: "ping", Value: now},
		{Key: "up", Value: int64(0)},
		{Key: "waiting", Value: true},
	})
}

// compatibility notes the compatibility version, which servers have since
// 3.4, in admin.system.version.
func (tb topologyBuilder) compatibility() error {
	if !tb.c.release.AtLeast(catalog.Release34) {
		return nil
	}
	parts := strings.SplitN(tb.c.Version(), ".", 3)
	doc, err := bson.Marshal(bson.D{{Key: "_id", Value: "featureCompatibilityVersion"},
		{Key: "version", Value: parts[0] + "." + parts[1]}})
	if err != nil {
		return err
	}
	_, err = tb.c.config.data("admin.system.version").Insert(doc)
	return err
}

// configIndex describes an index of the config database by its fields.
func configIndex(name string, unique bool, fields ...string) store.IndexSpec {
	key := bsoncore.NewDocumentBuilder()
	for _, f := range fields {
		key = key.AppendInt32(f, 1)
	}
	return store.IndexSpec{Name: name, Key: bson.Raw(key.Build()), Unique: unique}
}

// chunkIndexes returns those of config.chunks (spec 03 §3).
func chunkIndexes() []store.IndexSpec {
	return []store.IndexSpec{
		configIndex("_id_", false, "_id"),
		configIndex("uuid_1_min_1", true, "uuid", "min"),
		configIndex("uuid_1_shard_1_min_1", true, "uuid", "shard", "min"),
		configIndex("uuid_1_lastmod_1", true, "uuid", "lastmod"),
		configIndex("uuid_1_shard_1_onCurrentShardSince_1", false, "uuid", "shard", "onCurrentShardSince"),
	}
}

// placementIndex finds the newest row of a namespace.
func placementIndex() store.IndexSpec {
	key := bsoncore.NewDocumentBuilder().AppendInt32("nss", 1).AppendInt32("timestamp", -1)
	return store.IndexSpec{Name: "nss_1_timestamp_-1", Key: bson.Raw(key.Build()), Unique: true}
}

// createIndexes makes the indexes of the stored collections (spec 03 §3).
func (cfg *ConfigDB) createIndexes() error {
	for name, specs := range map[string][]store.IndexSpec{
		configShards: {configIndex("host_1", true, "host")},
		configTags:   {configIndex("ns_1_min_1", true, "ns", "min"), configIndex("ns_1_tag_1", false, "ns", "tag")},

		configPlacement: {placementIndex()},
	} {
		for _, spec := range specs {
			if err := cfg.Collection(name).CreateIndex(spec); err != nil {
				return err
			}
		}
	}
	return nil
}
