package access

import "slices"

// The built-in roles as the MongoDB 8.0 manual describes them. The functions below build the privileges
// of a role for one database. With an empty database name they build the role for any database
// (readAnyDatabase and the like).

// builtin is a built-in role, which every cluster has.
type builtin struct {
	// inEveryDatabase reports whether every database has the role. Other built-in roles exist only on
	// admin.
	inEveryDatabase bool
	privileges      func(database string) []Privilege
}

// builtinRoles returns the built-in roles by name.
func builtinRoles() map[string]builtin {
	return map[string]builtin{
		"read":      {true, readRole},
		"readWrite": {true, readWriteRole},
		"dbAdmin":   {true, dbAdminRole},
		"userAdmin": {true, userAdminRole},
		"dbOwner":   {true, dbOwnerRole},

		"readAnyDatabase":       {false, readAnyDatabaseRole},
		"readWriteAnyDatabase":  {false, readWriteAnyDatabaseRole},
		"dbAdminAnyDatabase":    {false, dbAdminAnyDatabaseRole},
		"userAdminAnyDatabase":  {false, userAdminAnyDatabaseRole},
		"clusterMonitor":        {false, clusterMonitorRole},
		"hostManager":           {false, hostManagerRole},
		"clusterManager":        {false, clusterManagerRole},
		"clusterAdmin":          {false, clusterAdminRole},
		"enableSharding":        {false, enableShardingRole},
		"directShardOperations": {false, directShardOperationsRole},
		"backup":                {false, backupRole},
		"restore":               {false, restoreRole},
		"root":                  {false, rootRole},
		"__system":              {false, systemRole},
	}
}

// builtinPrivileges returns the privileges of a built-in role, and false if r is not a built-in role.
func builtinPrivileges(r Role) ([]Privilege, bool) {
	role, known := builtinRoles()[r.Role]
	if !known || !role.inEveryDatabase && r.Database != "admin" {
		return nil, false
	}
	return role.privileges(r.Database), true
}

// BuiltinRoles returns the built-in roles of a database, sorted by name.
func BuiltinRoles(database string) []Role {
	var roles []Role
	for name, role := range builtinRoles() {
		if role.inEveryDatabase || database == "admin" {
			roles = append(roles, Role{name, database})
		}
	}
	slices.SortFunc(roles, compareRoles)
	return roles
}

var (
	readActions = parseActions(`changeStream collStats dbHash dbStats find killCursors listCollections listIndexes ` +
		`listSearchIndexes planCacheRead`)
	writeActions = parseActions(`convertToCapped createCollection createIndex createSearchIndexes dropCollection dropIndex
		dropSearchIndex insert remove renameCollectionSameDB update updateSearchIndex`)
	dbAdminActions = parseActions(`analyzeShardKey bypassDocumentValidation collMod collStats compact
		configureQueryAnalyzer convertToCapped createCollection createIndex createSearchIndexes dbStats dropCollection
		dropDatabase dropIndex dropSearchIndex enableProfiler listCollections listIndexes listSearchIndexes
		planCacheIndexFilter planCacheRead planCacheWrite reIndex renameCollectionSameDB storageDetails updateSearchIndex
		validate`)
	profileActions = parseActions(`changeStream collStats convertToCapped createCollection dbHash dbStats ` +
		`dropCollection find killCursors listCollections listIndexes planCacheRead`)
	userAdminActions = parseActions(`changeCustomData changePassword createRole createUser dropRole dropUser grantRole
		revokeRole setAuthenticationRestriction viewRole viewUser`)
	monitorActions = parseActions(`connPoolStats getClusterParameter getCmdLineOpts getDefaultRWConcern getLog getParameter
		getShardMap hostInfo inprog listDatabases listSampledQueries listSessions listShards netstat operationMetrics
		queryStatsRead queryStatsReadTransformed replSetGetConfig replSetGetStatus serverStatus shardedDataDistribution
		shardingState top useUUID`)
	hostActions = parseActions(`applicationMessage closeAllDatabases connPoolSync dropConnections flushRouterConfig fsync
		invalidateUserCache killAnyCursor killAnySession killop logRotate oidReset resync rotateCertificates setParameter
		shutdown touch unlock`)
	managerActions = parseActions(`addShard appendOplogNote applicationMessage checkMetadataConsistency cleanupOrphaned
		flushRouterConfig getClusterParameter getDefaultRWConcern listSessions listShards removeShard replSetConfigure
		replSetGetConfig replSetGetStatus replSetStateChange resync setClusterParameter setDefaultRWConcern
		setFeatureCompatibilityVersion setUserWriteBlockMode shardDrainingStatus transitionFromDedicatedConfigServer
		transitionToDedicatedConfigServer`)
	shardingActions = parseActions(`analyzeShardKey checkMetadataConsistency clearJumboFlag configureQueryAnalyzer
		enableSharding moveChunk moveCollection refineCollectionShardKey reshardCollection splitChunk splitVector
		unshardCollection`)
)

func readRole(db string) []Privilege {
	return []Privilege{{DatabaseResource(db), readActions}, {BucketsResource(db), readActions},
		{CollectionResource(db, "system.js"), readActions}}
}

func readWriteRole(db string) []Privilege {
	both := slices.Concat(readActions, writeActions)
	return []Privilege{{DatabaseResource(db), both}, {BucketsResource(db), both},
		{CollectionResource(db, "system.js"), both}}
}

func dbAdminRole(db string) []Privilege {
	return []Privilege{{DatabaseResource(db), dbAdminActions}, {BucketsResource(db), dbAdminActions},
		{CollectionResource(db, "system.profile"), profileActions}}
}

func userAdminRole(db string) []Privilege {
	return []Privilege{{DatabaseResource(db), userAdminActions}}
}

func dbOwnerRole(db string) []Privilege {
	return slices.Concat(readWriteRole(db), dbAdminRole(db), userAdminRole(db))
}

// listDatabasesPrivileges returns the privileges that the roles for any database have in addition.
func listDatabasesPrivileges() []Privilege {
	return []Privilege{{ClusterResource(), parseActions("listDatabases")}}
}

func readAnyDatabaseRole(string) []Privilege {
	return append(readRole(""), listDatabasesPrivileges()...)
}

func readWriteAnyDatabaseRole(string) []Privilege {
	return append(readWriteRole(""), listDatabasesPrivileges()...)
}

func dbAdminAnyDatabaseRole(string) []Privilege {
	return append(dbAdminRole(""), listDatabasesPrivileges()...)
}

func userAdminAnyDatabaseRole(string) []Privilege {
	seen := parseActions("collStats dbHash dbStats find killCursors listCollections listIndexes planCacheRead")
	return append(slices.Concat(userAdminRole(""), userAdminRole("config"), userAdminRole("local")),
		Privilege{ClusterResource(), parseActions(
			"invalidateUserCache listCachedAndActiveUsers listDatabases viewRole viewUser")},
		Privilege{CollectionResource("admin", "system.users"), seen},
		Privilege{CollectionResource("admin", "system.roles"), seen},
		Privilege{CollectionResource("admin", "system.version"), seen},
	)
}

func clusterMonitorRole(string) []Privilege {
	internals := slices.Concat(parseActions("getShardVersion indexStats"), readActions)
	return []Privilege{
		{ClusterResource(), monitorActions},
		{DatabaseResource(""), parseActions("collStats dbStats getDatabaseVersion getShardVersion indexStats")},
		{BucketsResource(""), parseActions("collStats dbStats getDatabaseVersion getShardVersion indexStats")},
		{DatabaseResource("config"), internals}, {CollectionResource("config", "system.js"), readActions},
		{DatabaseResource("local"), internals}, {CollectionResource("local", "system.js"), readActions},
		{CollectionResource("local", "system.replset"), parseActions("find")},
		{CollectionResource("", "system.profile"), parseActions("find")},
	}
}

func hostManagerRole(string) []Privilege {
	return []Privilege{{ClusterResource(), hostActions}, {DatabaseResource(""), parseActions("killCursors")}}
}

func clusterManagerRole(string) []Privilege {
	writes := parseActions("enableSharding insert moveChunk remove splitChunk splitVector update")
	return []Privilege{
		{ClusterResource(), managerActions},
		{DatabaseResource(""), shardingActions}, {BucketsResource(""), shardingActions},
		{DatabaseResource("config"), slices.Concat(readActions, writes)},
		{CollectionResource("config", "system.sessions"), shardingActions},
		{DatabaseResource("local"), writes},
		{CollectionResource("local", "system.replset"), readActions},
	}
}

func clusterAdminRole(string) []Privilege {
	return slices.Concat(clusterMonitorRole(""), hostManagerRole(""), clusterManagerRole(""),
		[]Privilege{{DatabaseResource(""), parseActions("dropDatabase")}})
}

func enableShardingRole(string) []Privilege {
	return []Privilege{{DatabaseResource(""), parseActions("enableSharding refineCollectionShardKey reshardCollection")}}
}

func directShardOperationsRole(string) []Privilege {
	return []Privilege{{ClusterResource(), parseActions("issueDirectShardOperations")}}
}

func backupRole(string) []Privilege {
	reads := parseActions("collStats find listCollections listIndexes")
	return []Privilege{
		{ClusterResource(), parseActions("appendOplogNote getParameter listDatabases serverStatus setUserWriteBlockMode")},
		{DatabaseResource(""), reads}, {DatabaseResource("config"), reads}, {DatabaseResource("local"), reads},
		{CollectionResource("", "system.js"), reads}, {CollectionResource("", "system.profile"), reads},
		{CollectionResource("admin", "system.users"), reads}, {CollectionResource("admin", "system.roles"), reads},
		{CollectionResource("admin", "system.version"), reads},
		{CollectionResource("config", "settings"), parseActions("insert update")},
	}
}

func restoreRole(string) []Privilege {
	writes := parseActions(`bypassDocumentValidation collMod convertToCapped createCollection createIndex ` +
		`dropCollection dropIndex insert listCollections`)
	return []Privilege{
		{ClusterResource(), parseActions("getParameter setUserWriteBlockMode")},
		{DatabaseResource(""), slices.Concat(writes, userAdminActions)},
		{DatabaseResource("config"), writes}, {DatabaseResource("local"), writes},
		{CollectionResource("", "system.js"), writes},
	}
}

func rootRole(string) []Privilege {
	return slices.Concat(clusterAdminRole(""), userAdminAnyDatabaseRole(""), dbAdminAnyDatabaseRole(""),
		readWriteAnyDatabaseRole(""),
		restoreRole(""), backupRole(""), []Privilege{{AnyResource(), parseActions("validate")}})
}

func systemRole(string) []Privilege { return []Privilege{{AnyResource(), []Action{anyAction}}} }
