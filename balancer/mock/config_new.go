package mock

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// configFromStart are the collections that the config database has before
// anything has happened.
func configFromStart() []string {
	return []string{
		configShards, configDatabases, configCollections, configTags, configSettings, configChangelog, configActionlog,
		configPlacement, configReshardings, configVersion, configMongos,
	}
}

// configFromStart80 are those of 8.0 that stay empty here: as recorded.
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
	if err := tb.c.config.insert(configVersion, bson.D{{Key: "_id", Value: int32(1)}, {Key: "clusterId", Value: tb.c.NewObjectID()}}); err != nil {
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
	doc, err := bson.Marshal(bson.D{{Key: "_id", Value: "featureCompatibilityVersion"}, {Key: "version", Value: parts[0] + "." + parts[1]}})
	if err != nil {
		return err
	}
	_, err = tb.c.config.data("admin.system.version").Insert(doc)
	return err
}
