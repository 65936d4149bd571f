package shelltest

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const acknowledgedCommands = `enableSharding shardCollection reshardCollection commitReshardCollection
	abortReshardCollection addShard addShardToZone removeShardFromZone updateZoneKeyRange split moveChunk moveRange
	setAllowMigrations balancerStart
		balancerStop
	moveCollection abortMoveCollection unshardCollection abortUnshardCollection shardDrainingStatus create createIndexes
	getTransitionToDedicatedConfigServerStatus renameCollection collMod profile setParameter dropDatabase killOp explainx
	removeShard mergeChunks mergeAllChunksOnShard clearJumboFlag refineCollectionShardKey movePrimary
		configureCollectionBalancing
	getShardMap analyzeShardKey configureQueryAnalyzer validate convertToCapped createUser dropUser planCacheClear`

func fixtureReplies() map[string]bson.D {
	return map[string]bson.D{
		"listDatabases": OK(Field("databases", bson.A{
			bson.D{Field("name", "admin"), Field("sizeOnDisk", int64(40960))}, bson.D{Field("name", "app"), Field("sizeOnDisk",
				int64(123456789))},
			bson.D{Field("name", "config"), Field("sizeOnDisk", int64(3500000))}, bson.D{Field("name", "tiny"),
				Field("sizeOnDisk", int64(500))},
		})),
		"buildInfo": OK(Field("version", "8.0.4"), Field("bits", int32(64))),
		"balancerStatus": OK(Field("mode", "full"), Field("inBalancerRound", false), Field("numBalancerRounds", int64(77)),
			Field("term", int64(1))),
		"balancerCollectionStatus": OK(Field("chunkSize", int32(128)), Field("balancerCompliant", false),
			Field("firstComplianceViolation", "chunksImbalance")),
		"listShards": OK(Field("shards", bson.A{fixtureShards()[0], fixtureShards()[1]})),
		"getShardVersion": OK(Field("configServer", "cfg/h:27019"), Field("inShardedOpt", true),
			Field("global", bson.Timestamp{T: 25})),
		"collStats": OK(Field("ns", "app.orders"), Field("count", int32(1))),
		"dbStats": OK(Field("db", "app"), Field("collections", int32(1)), Field("objects", int32(5)), Field("dataSize",
			int32(100))),
		"usersInfo": OK(Field("users", bson.A{bson.D{Field("_id", "app.bob"), Field("user", "bob"), Field("db", "app"),
			Field("roles", bson.A{bson.D{Field("role", "readWrite"), Field("db", "app")}}), Field("mechanisms",
				bson.A{"SCRAM-SHA-256"})}})),
		"explain": OK(Field("queryPlanner", bson.D{Field("winningPlan", bson.D{Field("stage", "SHARD_MERGE")})}),
			Field("serverInfo", bson.D{Field("host", "x")})),
		"getLog": OK(Field("names", bson.A{"global", "startupWarnings"})),
	}
}

// fixtureSource returns the documents of a source stage.
func fixtureSource(stage string) ([]bson.Raw, bool) {
	switch stage {
	case "$collStats":
		stats := func(shard string, size, count, orphans, storage int32) bson.Raw {
			return MustMarshal(bson.D{Field("shard", shard), Field("storageStats", bson.D{
				Field("size", size), Field("count", count), Field("avgObjSize", int32(100)), Field("numOrphanDocs", orphans),
				Field("storageSize", storage), Field("totalIndexSize", int32(40960)), Field("totalSize", storage+40960),
				Field("indexSizes", bson.D{Field("_id_", int32(20480)), Field("k_1", int32(20480))}), Field("nindexes", int32(2)),
				Field("capped", false), Field("scaleFactor", int32(1)),
			})})
		}
		return []bson.Raw{stats("sh0", 3000000, 30000, 10, 1500000), stats("sh1", 2000000, 20000, 0, 1000000)}, true
	case "$shardedDataDistribution":
		return []bson.Raw{MustMarshal(bson.D{Field("ns", "app.orders"), Field("shards", bson.A{
			bson.D{Field("shardName", "sh0"), Field("numOrphanedDocs", int32(10)), Field("numOwnedDocuments", int32(29990)),
				Field("ownedSizeBytes", int32(2999000)), Field("orphanedSizeBytes", int32(1000))},
			bson.D{Field("shardName", "sh1"), Field("numOrphanedDocs", int32(0)), Field("numOwnedDocuments", int32(20000)),
				Field("ownedSizeBytes", int32(2000000)), Field("orphanedSizeBytes", int32(0))},
		})})}, true
	case "$currentOp":
		return []bson.Raw{MustMarshal(bson.D{Field("type", "op"), Field("host", "m0:27017"), Field("op", "command"),
			Field("ns", "app.orders"), Field("desc", "conn1"), Field("secs_running", int64(3))})}, true
	}
	return nil, false
}

func fixtureShards() []bson.D {
	shard := func(id, host string, at uint32) bson.D {
		return bson.D{Field("_id", id), Field("host", host), Field("state", int32(1)), Field("topologyTime",
			bson.Timestamp{T: at, I: 2}), Field("replSetConfigVersion", int64(-1))}
	}
	return []bson.D{
		append(shard("sh0", "sh0/h0:27018,h1:27018", 1700000000), Field("tags", bson.A{"EU"})),
		shard("sh1", "sh1/h2:27018", 1700000001),
	}
}

// FixtureData returns the initial documents of the fixture, by namespace.
func FixtureData(now time.Time) map[string][]bson.Raw {
	data := map[string][]bson.Raw{}
	add := func(ns string, docs ...bson.D) {
		for _, d := range docs {
			data[ns] = append(data[ns], MustMarshal(d))
		}
	}
	for i := range int32(45) {
		add("app.orders", bson.D{Field("_id", i), Field("a", fmt.Sprintf("v%d", i))})
	}
	dec, _ := bson.ParseDecimal128("1.50")
	add("app.users", bson.D{Field("_id", int32(1)), Field("h", int64(123)), Field("name", "ann"), Field("tags",
		bson.A{"a", "b"}),
		Field("nested", bson.D{Field("x", bson.D{Field("y", bson.D{Field("z", int32(1))})})}), Field("when",
			bson.DateTime(0)), Field("dec", dec),
		Field("dbl", 2.0), Field("i32", int32(7)), Field("dd", 3.0)})
	clusterID, _ := bson.ObjectIDFromHex("65a000000000000000000001")
	add("config.version", bson.D{Field("_id", int32(1)), Field("clusterId", clusterID)})
	add("config.shards", fixtureShards()...)
	for i, id := range []string{"m0:27017", "m1:27017"} {
		add("config.mongos", bson.D{Field("_id", id), Field("mongoVersion", "8.0.4"), Field("ping",
			now.Add(-time.Duration(i+1)*time.Second))})
	}
	add("config.settings", bson.D{Field("_id", "balancer"), Field("stopped", false), Field("mode", "full"),
		Field("activeWindow", bson.D{Field("start", "23:00"), Field("stop", "6:00")})})
	uuid := func(first byte) bson.Binary {
		return bson.Binary{Subtype: 4, Data: []byte{first, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55,
			0x55, 0x55, 0x55, 0x55}}
	}
	version := func(first byte, i uint32) bson.D {
		return bson.D{Field("uuid", uuid(first)), Field("timestamp", bson.Timestamp{T: 1700000000, I: i}), Field("lastMod",
			int32(1))}
	}
	add("config.databases", bson.D{Field("_id", "app"), Field("primary", "sh0"), Field("version", version(0x11, 1))},
		bson.D{Field("_id", "test"), Field("primary", "sh1"), Field("version", version(0x21, 2))})
	add("config.collections",
		bson.D{Field("_id", "app.orders"), Field("uuid", uuid(0x11)), Field("key", bson.D{Field("k", int32(1))}),
			Field("unique", false),
			Field("noBalance", false), Field("timestamp", bson.Timestamp{T: 1700000000, I: 3})},
		bson.D{Field("_id", "app.users"), Field("uuid", uuid(0x21)), Field("key", bson.D{Field("h", "hashed")}),
			Field("unique", true),
			Field("noBalance", true), Field("permitMigrations", false), Field("timestamp", bson.Timestamp{T: 1700000000,
				I: 4})})
	bound := func(i int) any {
		switch i {
		case 0:
			return bson.MinKey{}
		case 25:
			return bson.MaxKey{}
		}
		return int32(i * 100)
	}
	for i := range 25 {
		shard := "sh0"
		if i >= 15 {
			shard = "sh1"
		}
		chunk := bson.D{Field("uuid", uuid(0x11)), Field("min", bson.D{Field("k", bound(i))}), Field("max",
			bson.D{Field("k", bound(i+1))}),
			Field("shard", shard), Field("lastmod", bson.Timestamp{T: uint32(i + 1)})}
		if i == 3 {
			chunk = append(chunk, Field("jumbo", true))
		}
		add("config.chunks", chunk)
	}
	add("config.chunks",
		bson.D{Field("uuid", uuid(0x21)), Field("min", bson.D{Field("h", bson.MinKey{})}), Field("max", bson.D{Field("h",
			int64(0))}), Field("shard", "sh0"), Field("lastmod", bson.Timestamp{T: 1})},
		bson.D{Field("uuid", uuid(0x21)), Field("min", bson.D{Field("h", int64(0))}), Field("max", bson.D{Field("h",
			bson.MaxKey{})}), Field("shard", "sh1"), Field("lastmod", bson.Timestamp{T: 1, I: 1})})
	add("config.tags", bson.D{Field("ns", "app.orders"), Field("tag", "EU"), Field("min", bson.D{Field("k", int32(0))}),
		Field("max", bson.D{Field("k", int32(500))})})
	return data
}
