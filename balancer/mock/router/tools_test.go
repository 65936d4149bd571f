package router_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// What monitoring and administration tools send to a mongos, and the code it
// answers; 0 is success, -1 a failure without a code. A tool takes 59 and its like for "not on a mongos" and
// goes on.
func TestRequestsOfTools(t *testing.T) {
	pipeline := func(on any, stages ...any) bson.D {
		return d("aggregate", on, "pipeline", bson.A(stages), "cursor", d())
	}
	storage := d("$collStats", d("latencyStats", d("histograms", true), "storageStats", d("scale", 1)))
	bare := d("$project", d("storageStats.wiredTiger", 0, "storageStats.indexDetails", 0))
	perShard := d("$group", d("_id", "$shard", "cnt", d("$sum", 1)))
	tests := map[string][]struct {
		db      string
		command bson.D
		code    int
	}{
		"mongodb_exporter": {
			{"admin", d("getDiagnosticData", 1), 0},
			{"admin", d("serverStatus", 1, "repl", 0), 0},
			{"admin", d("replSetGetStatus", 1), -1},
			{"admin", d("replSetGetConfig", 1), 59},
			{"admin", d("getCmdLineOpts", 1), 0},
			{"admin", d("top", 1), 59},
			{"admin", d("getParameter", 1, "featureCompatibilityVersion", 1), 72},
			{"admin", d("listDatabases", 1, "nameOnly", true, "filter", d("name", d("$nin", bson.A{"admin", "config", "local"}))), 0},
			{"shop", d("dbStats", 1, "scale", 1, "freeStorage", 1), 0},
			{"shop", pipeline("orders", storage, bare), 0},
			{"shop", pipeline("orders", d("$indexStats", d())), 0},
			{"admin", pipeline(1, d("$currentOp", d("allUsers", true, "idleConnections", true))), 0},
			{"admin", d("currentOp", true, "microsecs_running", d("$exists", true)), 0},
			{"admin", d("listShards", 1), 0},
			{"admin", d("balancerStatus", 1), 0},
			{"admin", d("connPoolStats", 1), 0},
			{"config", pipeline("changelog", d("$match", d("what", d("$ne", "x"))), d("$group", d("_id", d("event", "$what", "note", "$details.note"), "count", d("$sum", 1)))), 0},
			{"config", pipeline("chunks", perShard), 0},
			{"config", pipeline("databases", d("$match", d("_id", d("$ne", "config"))), d("$group", d("_id", "$partitioned", "total", d("$sum", 1)))), 0},
			{"config", d("count", "collections", "query", d("dropped", d("$ne", true))), 0},
			{"config", d("find", "settings", "filter", d("_id", "balancer"), "limit", 1), 0},
			{"config", d("find", "mongos", "sort", d("ping", -1)), 0},
			{"config", d("find", "locks", "filter", d("_id", "balancer")), 0},
		},
		"Compass": {
			{"admin", d("connectionStatus", 1, "showPrivileges", true), 0},
			{"admin", d("buildInfo", 1), 0},
			{"admin", d("getCmdLineOpts", 1), 0},
			{"admin", d("hostInfo", 1), 0},
			{"admin", d("getParameter", 1, "featureCompatibilityVersion", 1), 72},
			{"admin", d("atlasVersion", 1), 59},
			{"admin", pipeline("atlascli", d("$match", d("managedClusterType", "atlasCliLocalDevCluster")), d("$group", d("_id", 1, "n", d("$sum", 1)))), 0},
			{"admin", d("listDatabases", 1, "nameOnly", true, "authorizedDatabases", true), 0},
			{"shop", d("listCollections", 1, "filter", d(), "cursor", d(), "nameOnly", false, "authorizedCollections", true), 0},
			{"shop", d("dbStats", 1), 0},
			{"shop", pipeline("orders", d("$collStats", d("storageStats", d())), d("$group", d("_id", nil, "capped", d("$first", "$storageStats.capped"),
				"count", d("$sum", "$storageStats.count"), "size", d("$sum", d("$toDouble", "$storageStats.size")), "nindexes", d("$max", "$storageStats.nindexes")))), 0},
			{"shop", pipeline("orders", d("$indexStats", d()), d("$project", d("name", 1, "usageHost", "$host", "usageCount", "$accesses.ops", "usageSince", "$accesses.since"))), 0},
			{"shop", pipeline("orders", d("$listSearchIndexes", d())), 31082},
			{"shop", d("listIndexes", "orders", "cursor", d()), 0},
			{"admin", pipeline(1, d("$currentOp", d("allUsers", true, "localOps", false)), d("$match", d("active", true))), 0},
			{"admin", d("currentOp", 1), 0},
			{"admin", d("top", 1), 59},
			{"admin", d("serverStatus", 1), 0},
			{"shop", d("explain", d("find", "orders", "filter", d()), "verbosity", "executionStats"), 0},
			{"shop", d("explain", d("aggregate", "orders", "pipeline", bson.A{d("$match", d("a", 1))}, "cursor", d()), "verbosity", "queryPlanner"), 0},
			{"config", d("find", "collections", "filter", d("_id", "shop.orders"), "limit", 1, "singleBatch", true), 0},
			{"admin", pipeline(1, d("$shardedDataDistribution", d()), d("$match", d("ns", "shop.orders"))), 0},
			{"shop", pipeline("orders", d("$sample", d("size", 5))), 0},
		},
		"mongodump and mongoexport": {
			{"admin", d("buildInfo", 1), 0},
			{"admin", d("ismaster", 1), 0},
			{"admin", d("atlasVersion", 1), 59},
			{"admin", d("getParameter", 1, "authSchemaVersion", 1), 0},
			{"admin", d("listDatabases", 1, "nameOnly", true, "filter", d()), 0},
			{"shop", d("listCollections", 1, "filter", d(), "cursor", d()), 0},
			{"shop", d("listCollections", 1, "filter", d("name", "orders"), "cursor", d()), 0},
			{"shop", d("listIndexes", "orders", "cursor", d()), 0},
			{"shop", d("count", "orders"), 0},
			{"shop", d("find", "orders", "filter", d(), "hint", d("_id", 1), "noCursorTimeout", true), 0},
			{"shop", d("find", "orders", "filter", d(), "sort", d("_id", 1), "skip", int64(0), "limit", int64(5), "batchSize", 2), 0},
			{"shop", pipeline("orders", d("$match", d()), d("$group", d("_id", 1, "n", d("$sum", 1)))), 0},
			{"admin", d("find", "system.users", "filter", d("db", "shop")), 0},
			{"admin", d("find", "system.roles", "filter", d("db", "shop")), 0},
			{"admin", d("find", "system.version", "filter", d()), 0},
			{"local", d("find", "oplog.rs", "filter", d(), "limit", 1), 20},
		},
		"mongoimport and mongorestore": {
			{"admin", d("hello", 1), 0},
			{"_mongorestore_dummy", d("update", "_mongorestore_dummy.dummy", "ordered", true, "bypassEmptyTsReplacement", true,
				"updates", bson.A{d("q", d("____dummy", 1), "u", d("$rename", d()))}), 0},
			{"shop", d("drop", "copy", "writeConcern", d("w", "majority")), 0},
			{"shop", d("create", "copy", "idIndex", d("key", d("_id", 1), "name", "_id_", "ns", "shop.copy")), 0},
			{"shop", d("insert", "copy", "ordered", false, "bypassDocumentValidation", true, "bypassEmptyTsReplacement", true,
				"writeConcern", d("w", "majority"), "documents", bson.A{d("_id", 1, "a", 1), d("_id", 2, "a", 2)}), 0},
			{"shop", d("update", "copy", "ordered", true, "bypassEmptyTsReplacement", true,
				"updates", bson.A{d("q", d("_id", 1), "u", d("_id", 1, "a", 3), "upsert", true, "multi", false)}), 0},
			{"shop", d("delete", "copy", "ordered", true, "bypassEmptyTsReplacement", true, "deletes", bson.A{d("q", d("_id", 2), "limit", 1)}), 0},
			{"shop", d("createIndexes", "copy", "indexes", bson.A{d("key", d("a", 1), "name", "a_1", "ns", "shop.copy")},
				"ignoreUnknownIndexOptions", true), 0},
			{"admin", d("applyOps", bson.A{}), 59},
		},
		"pt-mongodb-summary": {
			{"admin", d("hostInfo", 1), 0},
			{"admin", d("getCmdLineOpts", 1, "recordStats", 1), 0},
			{"admin", d("serverStatus", 1, "recordStats", 1), 0},
			{"admin", d("isMaster", 1), 0},
			{"admin", d("getShardMap", 1), 0},
			{"admin", d("count", "system.users"), 0},
			{"admin", d("count", "system.roles"), 0},
			{"admin", d("listDatabases", 1), 0},
			{"shop", d("collStats", "orders"), 0},
			{"config", pipeline("chunks", d("$group", d("_id", "$ns", "count", d("$sum", 1)))), 0},
			{"config", pipeline("changelog", d("$match", d("what", "moveChunk.from")), d("$group", d("_id", d("event", "$what"), "count", d("$sum", 1)))), 0},
			{"config", d("find", "settings", "filter", d("_id", "balancer")), 0},
		},
		"mongodb_exporter of old, mongostat and mongotop": {
			{"admin", d("isMaster", 1), 0},
			{"admin", d("shardConnPoolStats", 1), 59},
			{"admin", d("getLastError", 1), 59},
			{"admin", d("serverStatus", 1, "recordStats", 0), 0},
			{"admin", d("listCommands", 1), 0},
			{"admin", d("getLog", "startupWarnings"), 0},
		},
	}
	for tool, requests := range tests {
		t.Run(tool, func(t *testing.T) {
			x := routertest.NewS0(t)
			for _, r := range requests {
				reply := x.Run(r.db, r.command)
				ok, _ := reply.Lookup("ok").AsFloat64OK()
				code, _ := reply.Lookup("code").AsInt64OK()
				switch {
				case r.code == 0 && ok != 1, r.code < 0 && (ok != 0 || code != 0), r.code > 0 && int(code) != r.code:
					t.Errorf("%v answered %s, want code %d", r.command, reply, r.code)
				}
			}
		})
	}
}
