package bindings

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const fixtureDDL = `enableSharding shardCollection reshardCollection commitReshardCollection abortReshardCollection addShard
	addShardToZone removeShardFromZone updateZoneKeyRange split moveChunk moveRange setAllowMigrations balancerStart balancerStop
	moveCollection abortMoveCollection unshardCollection abortUnshardCollection shardDrainingStatus create createIndexes
	getTransitionToDedicatedConfigServerStatus renameCollection collMod profile setParameter dropDatabase killOp explainx
	removeShard mergeChunks mergeAllChunksOnShard clearJumboFlag refineCollectionShardKey movePrimary configureCollectionBalancing
	getShardMap analyzeShardKey configureQueryAnalyzer validate convertToCapped createUser dropUser planCacheClear`

func fixtureReplies() map[string]bson.D {
	return map[string]bson.D{
		"listDatabases": ok(field("databases", bson.A{
			bson.D{field("name", "admin"), field("sizeOnDisk", int64(40960))}, bson.D{field("name", "app"), field("sizeOnDisk", int64(123456789))},
			bson.D{field("name", "config"), field("sizeOnDisk", int64(3500000))}, bson.D{field("name", "tiny"), field("sizeOnDisk", int64(500))},
		})),
		"buildInfo":      ok(field("version", "8.0.4"), field("bits", int32(64))),
		"balancerStatus": ok(field("mode", "full"), field("inBalancerRound", false), field("numBalancerRounds", int64(77)), field("term", int64(1))),
		"balancerCollectionStatus": ok(field("chunkSize", int32(128)), field("balancerCompliant", false),
			field("firstComplianceViolation", "chunksImbalance")),
		"listShards": ok(field("shards", bson.A{fixtureShards()[0], fixtureShards()[1]})),
		"getShardVersion": ok(field("configServer", "cfg/h:27019"), field("inShardedOpt", true),
			field("global", bson.Timestamp{T: 25})),
		"collStats": ok(field("ns", "app.orders"), field("count", int32(1))),
		"dbStats":   ok(field("db", "app"), field("collections", int32(1)), field("objects", int32(5)), field("dataSize", int32(100))),
		"usersInfo": ok(field("users", bson.A{bson.D{field("_id", "app.bob"), field("user", "bob"), field("db", "app"),
			field("roles", bson.A{bson.D{field("role", "readWrite"), field("db", "app")}}), field("mechanisms", bson.A{"SCRAM-SHA-256"})}})),
		"explain": ok(field("queryPlanner", bson.D{field("winningPlan", bson.D{field("stage", "SHARD_MERGE")})}), field("serverInfo", bson.D{field("host", "x")})),
		"getLog":  ok(field("names", bson.A{"global", "startupWarnings"})),
	}
}

// fixtureSource is what stages that start a pipeline give.
func fixtureSource(stage string) ([]bson.Raw, bool) {
	switch stage {
	case "$collStats":
		stats := func(shard string, size, count, orphans, storage int32) bson.Raw {
			return mustMarshal(bson.D{field("shard", shard), field("storageStats", bson.D{
				field("size", size), field("count", count), field("avgObjSize", int32(100)), field("numOrphanDocs", orphans),
				field("storageSize", storage), field("totalIndexSize", int32(40960)), field("totalSize", storage+40960),
				field("indexSizes", bson.D{field("_id_", int32(20480)), field("k_1", int32(20480))}), field("nindexes", int32(2)),
				field("capped", false), field("scaleFactor", int32(1)),
			})})
		}
		return []bson.Raw{stats("sh0", 3000000, 30000, 10, 1500000), stats("sh1", 2000000, 20000, 0, 1000000)}, true
	case "$shardedDataDistribution":
		return []bson.Raw{mustMarshal(bson.D{field("ns", "app.orders"), field("shards", bson.A{
			bson.D{field("shardName", "sh0"), field("numOrphanedDocs", int32(10)), field("numOwnedDocuments", int32(29990)),
				field("ownedSizeBytes", int32(2999000)), field("orphanedSizeBytes", int32(1000))},
			bson.D{field("shardName", "sh1"), field("numOrphanedDocs", int32(0)), field("numOwnedDocuments", int32(20000)),
				field("ownedSizeBytes", int32(2000000)), field("orphanedSizeBytes", int32(0))},
		})})}, true
	case "$currentOp":
		return []bson.Raw{mustMarshal(bson.D{field("type", "op"), field("host", "m0:27017"), field("op", "command"),
			field("ns", "app.orders"), field("desc", "conn1"), field("secs_running", int64(3))})}, true
	}
	return nil, false
}

func fixtureShards() []bson.D {
	shard := func(id, host string, at uint32) bson.D {
		return bson.D{field("_id", id), field("host", host), field("state", int32(1)), field("topologyTime", bson.Timestamp{T: at, I: 2}), field("replSetConfigVersion", int64(-1))}
	}
	return []bson.D{
		append(shard("sh0", "sh0/h0:27018,h1:27018", 1700000000), field("tags", bson.A{"EU"})),
		shard("sh1", "sh1/h2:27018", 1700000001),
	}
}

func fixtureData(now time.Time) map[string][]bson.Raw {
	data := map[string][]bson.Raw{}
	add := func(ns string, docs ...bson.D) {
		for _, d := range docs {
			data[ns] = append(data[ns], mustMarshal(d))
		}
	}
	for i := range int32(45) {
		add("app.orders", bson.D{field("_id", i), field("a", fmt.Sprintf("v%d", i))})
	}
	dec, _ := bson.ParseDecimal128("1.50")
	add("app.users", bson.D{field("_id", int32(1)), field("h", int64(123)), field("name", "ann"), field("tags", bson.A{"a", "b"}),
		field("nested", bson.D{field("x", bson.D{field("y", bson.D{field("z", int32(1))})})}), field("when", bson.DateTime(0)), field("dec", dec),
		field("dbl", 2.0), field("i32", int32(7)), field("dd", 3.0)})
	clusterID, _ := bson.ObjectIDFromHex("65a000000000000000000001")
	add("config.version", bson.D{field("_id", int32(1)), field("clusterId", clusterID)})
	add("config.shards", fixtureShards()...)
	for i, id := range []string{"m0:27017", "m1:27017"} {
		add("config.mongos", bson.D{field("_id", id), field("mongoVersion", "8.0.4"), field("ping", now.Add(-time.Duration(i+1)*time.Second))})
	}
	add("config.settings", bson.D{field("_id", "balancer"), field("stopped", false), field("mode", "full"),
		field("activeWindow", bson.D{field("start", "23:00"), field("stop", "6:00")})})
	uuid := func(first byte) bson.Binary {
		return bson.Binary{Subtype: 4, Data: []byte{first, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55}}
	}
	version := func(first byte, i uint32) bson.D {
		return bson.D{field("uuid", uuid(first)), field("timestamp", bson.Timestamp{T: 1700000000, I: i}), field("lastMod", int32(1))}
	}
	add("config.databases", bson.D{field("_id", "app"), field("primary", "sh0"), field("version", version(0x11, 1))},
		bson.D{field("_id", "test"), field("primary", "sh1"), field("version", version(0x21, 2))})
	add("config.collections",
		bson.D{field("_id", "app.orders"), field("uuid", uuid(0x11)), field("key", bson.D{field("k", int32(1))}), field("unique", false),
			field("noBalance", false), field("timestamp", bson.Timestamp{T: 1700000000, I: 3})},
		bson.D{field("_id", "app.users"), field("uuid", uuid(0x21)), field("key", bson.D{field("h", "hashed")}), field("unique", true),
			field("noBalance", true), field("permitMigrations", false), field("timestamp", bson.Timestamp{T: 1700000000, I: 4})})
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
		chunk := bson.D{field("uuid", uuid(0x11)), field("min", bson.D{field("k", bound(i))}), field("max", bson.D{field("k", bound(i+1))}),
			field("shard", shard), field("lastmod", bson.Timestamp{T: uint32(i + 1)})}
		if i == 3 {
			chunk = append(chunk, field("jumbo", true))
		}
		add("config.chunks", chunk)
	}
	add("config.chunks",
		bson.D{field("uuid", uuid(0x21)), field("min", bson.D{field("h", bson.MinKey{})}), field("max", bson.D{field("h", int64(0))}), field("shard", "sh0"), field("lastmod", bson.Timestamp{T: 1})},
		bson.D{field("uuid", uuid(0x21)), field("min", bson.D{field("h", int64(0))}), field("max", bson.D{field("h", bson.MaxKey{})}), field("shard", "sh1"), field("lastmod", bson.Timestamp{T: 1, I: 1})})
	add("config.tags", bson.D{field("ns", "app.orders"), field("tag", "EU"), field("min", bson.D{field("k", int32(0))}), field("max", bson.D{field("k", int32(500))})})
	return data
}
