package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mock/store"
)

// configIndex describes an index of the config database by its fields.
func configIndex(name string, unique bool, fields ...string) store.IndexSpec {
	key := bsoncore.NewDocumentBuilder()
	for _, f := range fields {
		key = key.AppendInt32(f, 1)
	}
	return store.IndexSpec{Name: name, Key: bson.Raw(key.Build()), Unique: unique}
}

// chunkIndexes are those of config.chunks (spec 03 §3).
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
