package call_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// Who may do what, by the built-in roles of MongoDB's documentation and the
// privileges of rules/03-commands §1.1.
func TestRoles(t *testing.T) {
	roles := []string{
		"read@app", "readWrite@app", "dbAdmin@app", "userAdmin@app", "dbOwner@app",
		"readAnyDatabase", "readWriteAnyDatabase", "dbAdminAnyDatabase", "userAdminAnyDatabase",
		"clusterMonitor", "clusterManager", "hostManager", "clusterAdmin", "enableSharding", "backup", "restore", "root",
	}
	const (
		reads    = "read@app readWrite@app dbOwner@app readAnyDatabase readWriteAnyDatabase backup root"
		writes   = "readWrite@app dbOwner@app readWriteAnyDatabase root"
		inserts  = writes + " restore"
		admins   = "dbAdmin@app dbOwner@app dbAdminAnyDatabase root"
		userly   = "userAdmin@app dbOwner@app userAdminAnyDatabase restore root"
		monitors = "clusterMonitor clusterAdmin root"
		managers = "clusterManager clusterAdmin root"
		hosts    = "hostManager clusterAdmin root"
		everyone = "*"
	)
	x := routertest.NewRoleTester(t)
	in, out := d("$match", d()), bson.A{d("$out", "copy")}
	for _, tt := range []struct {
		db      string
		command bson.D
		allowed string
	}{
		{"app", d("find", "orders"), reads},
		{"other", d("find", "things"), "readAnyDatabase readWriteAnyDatabase backup root"},
		{"app", d("find", "system.js"), "read@app readWrite@app dbOwner@app readAnyDatabase readWriteAnyDatabase backup root"},
		{"app", d("find", "system.profile"), "dbAdmin@app dbOwner@app dbAdminAnyDatabase clusterMonitor clusterAdmin backup root"},
		{"app", d("count", "orders"), reads},
		{"app", d("distinct", "orders", "key", "_id"), reads},
		{"app", d("aggregate", "orders", "pipeline", bson.A{in}, "cursor", d()), reads},
		{"app", d("aggregate", "orders", "pipeline", bson.A{d("$collStats", d("count", d()))}, "cursor", d()),
			"read@app readWrite@app dbAdmin@app dbOwner@app readAnyDatabase readWriteAnyDatabase dbAdminAnyDatabase clusterMonitor clusterAdmin backup root"},
		{"app", d("aggregate", "orders", "pipeline", bson.A{d("$indexStats", d())}, "cursor", d()), monitors},
		{"app", d("aggregate", "orders", "pipeline", out, "cursor", d()), writes},
		{"app", d("aggregate", "orders", "pipeline", bson.A{d("$merge", "copy")}, "cursor", d()), writes},
		{"app", d("aggregate", "orders", "pipeline", bson.A{d("$merge", d("into", "copy", "whenMatched", "fail"))}, "cursor", d()), writes},
		{"app", d("aggregate", "orders", "pipeline", bson.A{d("$facet", d("a", bson.A{in}))}, "cursor", d()), reads},
		{"app", d("explain", d("find", "orders")), reads},
		{"app", d("explain", d("update", "orders", "updates", bson.A{d("q", d(), "u", d("$set", d("a", 1)))})), writes},
		{"app", d("insert", "x", "documents", bson.A{d("a", 1)}), inserts},
		{"app", d("insert", "x", "documents", bson.A{d("a", 1)}, "bypassDocumentValidation", true), "dbOwner@app restore root"},
		{"app", d("update", "x", "updates", bson.A{d("q", d(), "u", d("$set", d("a", 1)))}), writes},
		{"app", d("delete", "x", "deletes", bson.A{d("q", d("a", 5), "limit", 1)}), writes},
		{"app", d("findAndModify", "x", "query", d(), "update", d("$set", d("a", 1)), "upsert", true), writes},
		{"app", d("findAndModify", "x", "query", d("a", 5), "remove", true), writes},
		{"config", d("find", "settings"), "clusterMonitor clusterManager clusterAdmin backup root"},
		{"config", d("find", "chunks"), "clusterMonitor clusterManager clusterAdmin backup root"},
		{"config", d("update", "settings", "updates", bson.A{d("q", d("_id", "x"), "u", d("$set", d("a", 1)))}), "clusterManager clusterAdmin backup root"},
		{"config", d("delete", "tags", "deletes", bson.A{d("q", d("_id", "x"), "limit", 1)}), managers},
		{"admin", d("bulkWrite", 1, "ops", bson.A{d("insert", 0, "document", d("a", 1)), d("delete", 0, "filter", d("a", 7))}, "nsInfo", bson.A{d("ns", "app.x")}), writes},
		{"admin", d("bulkWrite", 1, "ops", bson.A{d("insert", 0, "document", d("a", 1))}, "nsInfo", bson.A{d("ns", "app.x"), d("ns", "other.x")}), inserts},
		{"admin", d("bulkWrite", 1, "ops", bson.A{d("insert", 1, "document", d("a", 1))}, "nsInfo", bson.A{d("ns", "app.x"), d("ns", "other.x")}), "readWriteAnyDatabase restore root"},

		{"app", d("create", "made"), writes + " dbAdmin@app dbAdminAnyDatabase restore"},
		{"app", d("create", "view", "viewOn", "orders", "pipeline", bson.A{in}), writes},
		{"app", d("create", "capped", "capped", true, "size", 4096), writes + " dbAdmin@app dbAdminAnyDatabase restore"},
		{"app", d("drop", "made"), writes + " dbAdmin@app dbAdminAnyDatabase restore"},
		{"gone", d("dropDatabase", 1), "dbAdminAnyDatabase clusterAdmin root"},
		{"app", d("createIndexes", "orders", "indexes", bson.A{d("key", d("a", 1), "name", "a_1")}), writes + " dbAdmin@app dbAdminAnyDatabase restore"},
		{"app", d("dropIndexes", "orders", "index", "a_1"), writes + " dbAdmin@app dbAdminAnyDatabase restore"},
		{"app", d("listIndexes", "orders"), reads + " dbAdmin@app dbAdminAnyDatabase"},
		{"app", d("listCollections", 1), reads + " dbAdmin@app dbAdminAnyDatabase restore"},
		{"app", d("listCollections", 1, "nameOnly", true, "authorizedCollections", true),
			"read@app readWrite@app dbAdmin@app userAdmin@app dbOwner@app readAnyDatabase readWriteAnyDatabase dbAdminAnyDatabase userAdminAnyDatabase " +
				"clusterMonitor clusterManager hostManager clusterAdmin enableSharding backup restore root"},
		{"admin", d("listDatabases", 1), everyone},
		{"admin", d("listDatabases", 1, "authorizedDatabases", false),
			"readAnyDatabase readWriteAnyDatabase dbAdminAnyDatabase userAdminAnyDatabase clusterMonitor clusterAdmin backup root"},
		{"app", d("collMod", "x", "validationLevel", "off"), admins + " restore"},
		{"app", d("validate", "x"), admins},
		{"app", d("collStats", "orders"), reads + " dbAdmin@app dbAdminAnyDatabase clusterMonitor clusterAdmin"},
		{"app", d("dbStats", 1), "read@app readWrite@app dbAdmin@app dbOwner@app readAnyDatabase readWriteAnyDatabase dbAdminAnyDatabase clusterMonitor clusterAdmin root"},
		{"app", d("dataSize", "app.orders"), reads},
		{"app", d("profile", 0), admins},
		{"admin", d("renameCollection", "app.orders", "to", "app.renamed"), "readWrite@app dbAdmin@app dbOwner@app readWriteAnyDatabase dbAdminAnyDatabase root"},

		{"admin", d("balancerStatus", 1), "clusterMonitor clusterManager clusterAdmin backup root"},
		{"admin", d("balancerStop", 1), "clusterManager clusterAdmin backup root"},
		{"admin", d("balancerCollectionStatus", "app.orders"), managers + " enableSharding"},
		{"admin", d("configureCollectionBalancing", "app.orders", "enableBalancing", false), managers},
		{"admin", d("enableSharding", "app"), managers + " enableSharding"},
		{"admin", d("shardCollection", "app.sharded", "key", d("a", 1)), managers + " enableSharding"},
		{"admin", d("refineCollectionShardKey", "app.sharded", "key", d("a", 1, "b", 1)), managers + " enableSharding"},
		{"admin", d("moveRange", "app.sharded", "toShard", "shard1", "min", d("a", 0)), managers},
		{"admin", d("split", "app.sharded", "middle", d("a", 5)), managers},
		{"admin", d("mergeAllChunksOnShard", "app.sharded", "shard", "shard0"), managers},
		{"admin", d("setAllowMigrations", "app.sharded", "allowMigrations", true), managers},
		{"admin", d("clearJumboFlag", "app.sharded", "find", d("a", 1)), managers},
		{"admin", d("movePrimary", "app", "to", "nowhere"), managers},
		{"admin", d("addShard", ""), managers},
		{"admin", d("removeShard", "nowhere"), managers},
		{"admin", d("listShards", 1), "clusterMonitor clusterManager clusterAdmin root"},
		{"admin", d("addShardToZone", "shard0", "zone", "z"), managers},
		{"admin", d("removeShardFromZone", "shard0", "zone", "z"), managers},
		{"admin", d("updateZoneKeyRange", "app.sharded", "min", d("a", 1), "max", d("a", 2), "zone", bson.Null{}), managers},
		{"admin", d("flushRouterConfig", 1), "hostManager clusterManager clusterAdmin root"},

		{"admin", d("serverStatus", 1), monitors + " backup"},
		{"admin", d("getParameter", "*"), monitors + " backup restore"},
		{"admin", d("setParameter", 1, "cursorTimeoutMillis", 600000), hosts},
		{"admin", d("hostInfo", 1), monitors},
		{"admin", d("getLog", "*"), monitors},
		{"admin", d("getCmdLineOpts", 1), monitors},
		{"admin", d("currentOp", 1), monitors},
		{"admin", d("currentOp", 1, "$ownOps", true), everyone},
		{"admin", d("aggregate", 1, "pipeline", bson.A{d("$currentOp", d("allUsers", true))}, "cursor", d()), monitors},
		{"admin", d("aggregate", 1, "pipeline", bson.A{d("$currentOp", d("localOps", true))}, "cursor", d()), everyone},
		{"admin", d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d())}, "cursor", d()), monitors},
		{"config", d("aggregate", "system.sessions", "pipeline", bson.A{d("$listSessions", d())}, "cursor", d()), everyone},
		{"config", d("aggregate", "system.sessions", "pipeline", bson.A{d("$listSessions", d("allUsers", true))}, "cursor", d()),
			"clusterMonitor clusterManager clusterAdmin root"},
		{"admin", d("killOp", 1, "op", 999), hosts},
		{"admin", d("killAllSessions", bson.A{d("user", "x", "db", "y")}), hosts},
		{"admin", d("startSession", 1), everyone},
		{"admin", d("killSessions", bson.A{}), everyone},
		{"admin", d("connectionStatus", 1, "showPrivileges", true), everyone},
		{"admin", d("ping", 1), everyone},
		{"admin", d("mockStatus", 1), everyone},
		{"admin", d("mockAdvance", "1s"), hosts},

		{"app", d("createUser", "u", "pwd", "p", "roles", bson.A{}), userly},
		{"app", d("createUser", "u", "pwd", "p", "roles", bson.A{d("role", "root", "db", "admin")}), "userAdminAnyDatabase restore root"},
		{"app", d("dropUser", "u"), userly},
		{"app", d("updateUser", "u", "roles", bson.A{}), "userAdminAnyDatabase restore root"},
		{"app", d("updateUser", "u", "pwd", "q"), userly},
		{"app", d("usersInfo", 1), userly},
		{"app", d("usersInfo", d("forAllDBs", true)), "userAdminAnyDatabase root"},
		{"app", d("grantRolesToUser", "u", "roles", bson.A{"read"}), userly},
		{"app", d("createRole", "r", "privileges", bson.A{}, "roles", bson.A{}), userly},
		{"app", d("rolesInfo", 1), userly},
		{"app", d("dropRole", "r"), userly},
	} {
		name := tt.command.String()
		allowed := strings.Fields(tt.allowed)
		for _, role := range roles {
			may := tt.allowed == everyone || slices.Contains(allowed, role)
			reply := x.As(role, tt.db, tt.command)
			if routertest.IsUnauthorized(reply) == may {
				t.Errorf("%s on %s as %s: allowed is %v, want %v: %s", name, tt.db, role, !may, may, reply.Lookup("errmsg"))
			}
		}
	}
}
