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
	readActions = list(`changeStream collStats dbHash dbStats find killCursors listCollections listIndexes ` +
		`listSearchIndexes planCacheRead`)
	writeActions = list(`convertToCapped createCollection createIndex createSearchIndexes dropCollection dropIndex
		dropSearchIndex insert remove renameCollectionSameDB update updateSearchIndex`)
	dbAdminActions = list(`analyzeShardKey bypassDocumentValidation collMod collStats compact configureQueryAnalyzer
		convertToCapped createCollection createIndex createSearchIndexes dbStats dropCollection dropDatabase dropIndex
		dropSearchIndex enableProfiler listCollections listIndexes listSearchIndexes planCacheIndexFilter planCacheRead
		planCacheWrite reIndex renameCollectionSameDB storageDetails updateSearchIndex validate`)
	profileActions = list(`changeStream collStats convertToCapped createCollection dbHash dbStats dropCollection find ` +
		`killCursors listCollections listIndexes planCacheRead`)
	userAdminActions = list(`changeCustomData changePassword createRole createUser dropRole dropUser grantRole revokeRole
		setAuthenticationRestriction viewRole viewUser`)
	monitorActions = list(`connPoolStats getClusterParameter getCmdLineOpts getDefaultRWConcern getLog getParameter
		getShardMap hostInfo inprog listDatabases listSampledQueries listSessions listShards netstat operationMetrics
		queryStatsRead queryStatsReadTransformed replSetGetConfig replSetGetStatus serverStatus shardedDataDistribution
		shardingState top useUUID`)
	hostActions = list(`applicationMessage closeAllDatabases connPoolSync dropConnections flushRouterConfig fsync
		invalidateUserCache killAnyCursor killAnySession killop logRotate oidReset resync rotateCertificates setParameter
		shutdown touch unlock`)
	managerActions = list(`addShard appendOplogNote applicationMessage checkMetadataConsistency cleanupOrphaned
		flushRouterConfig getClusterParameter getDefaultRWConcern listSessions listShards removeShard replSetConfigure
		replSetGetConfig replSetGetStatus replSetStateChange resync setClusterParameter setDefaultRWConcern
		setFeatureCompatibilityVersion setUserWriteBlockMode shardDrainingStatus transitionFromDedicatedConfigServer
		transitionToDedicatedConfigServer`)
	shardingActions = list(`analyzeShardKey checkMetadataConsistency clearJumboFlag configureQueryAnalyzer
		enableSharding moveChunk moveCollection refineCollectionShardKey reshardCollection splitChunk splitVector
		unshardCollection`)
)

func readRole(db string) []Privilege {
	return []Privilege{{In(db), readActions}, {Buckets(db), readActions}, {On(db, "system.js"), readActions}}
}

func readWriteRole(db string) []Privilege {
	both := slices.Concat(readActions, writeActions)
	return []Privilege{{In(db), both}, {Buckets(db), both}, {On(db, "system.js"), both}}
}

func dbAdminRole(db string) []Privilege {
	return []Privilege{{In(db), dbAdminActions}, {Buckets(db), dbAdminActions}, {On(db, "system.profile"), profileActions}}
}

func userAdminRole(db string) []Privilege { return []Privilege{{In(db), userAdminActions}} }

func dbOwnerRole(db string) []Privilege {
	return slices.Concat(readWriteRole(db), dbAdminRole(db), userAdminRole(db))
}

// listDatabasesPrivileges returns the privileges that the roles for any database have in addition.
func listDatabasesPrivileges() []Privilege {
	return []Privilege{{ClusterResource(), list("listDatabases")}}
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
	seen := list("collStats dbHash dbStats find killCursors listCollections listIndexes planCacheRead")
	return append(slices.Concat(userAdminRole(""), userAdminRole("config"), userAdminRole("local")),
		Privilege{ClusterResource(), list("invalidateUserCache listCachedAndActiveUsers listDatabases viewRole viewUser")},
		Privilege{On("admin", "system.users"), seen},
		Privilege{On("admin", "system.roles"), seen},
		Privilege{On("admin", "system.version"), seen},
	)
}

func clusterMonitorRole(string) []Privilege {
	internals := slices.Concat(list("getShardVersion indexStats"), readActions)
	return []Privilege{
		{ClusterResource(), monitorActions},
		{In(""), list("collStats dbStats getDatabaseVersion getShardVersion indexStats")},
		{Buckets(""), list("collStats dbStats getDatabaseVersion getShardVersion indexStats")},
		{In("config"), internals}, {On("config", "system.js"), readActions},
		{In("local"), internals}, {On("local", "system.js"), readActions}, {On("local", "system.replset"), list("find")},
		{On("", "system.profile"), list("find")},
	}
}

func hostManagerRole(string) []Privilege {
	return []Privilege{{ClusterResource(), hostActions}, {In(""), list("killCursors")}}
}

func clusterManagerRole(string) []Privilege {
	writes := list("enableSharding insert moveChunk remove splitChunk splitVector update")
	return []Privilege{
		{ClusterResource(), managerActions},
		{In(""), shardingActions}, {Buckets(""), shardingActions},
		{In("config"), slices.Concat(readActions, writes)},
		{On("config", "system.sessions"), shardingActions},
		{In("local"), writes},
		{On("local", "system.replset"), readActions},
	}
}

func clusterAdminRole(string) []Privilege {
	return slices.Concat(clusterMonitorRole(""), hostManagerRole(""), clusterManagerRole(""),
		[]Privilege{{In(""), list("dropDatabase")}})
}

func enableShardingRole(string) []Privilege {
	return []Privilege{{In(""), list("enableSharding refineCollectionShardKey reshardCollection")}}
}

func directShardOperationsRole(string) []Privilege {
	return []Privilege{{ClusterResource(), list("issueDirectShardOperations")}}
}

func backupRole(string) []Privilege {
	reads := list("collStats find listCollections listIndexes")
	return []Privilege{
		{ClusterResource(), list("appendOplogNote getParameter listDatabases serverStatus setUserWriteBlockMode")},
		{In(""), reads}, {In("config"), reads}, {In("local"), reads},
		{On("", "system.js"), reads}, {On("", "system.profile"), reads},
		{On("admin", "system.users"), reads}, {On("admin", "system.roles"), reads}, {On("admin", "system.version"), reads},
		{On("config", "settings"), list("insert update")},
	}
}

func restoreRole(string) []Privilege {
	writes := list(`bypassDocumentValidation collMod convertToCapped createCollection createIndex dropCollection ` +
		`dropIndex insert listCollections`)
	return []Privilege{
		{ClusterResource(), list("getParameter setUserWriteBlockMode")},
		{In(""), slices.Concat(writes, userAdminActions)},
		{In("config"), writes}, {In("local"), writes},
		{On("", "system.js"), writes},
	}
}

func rootRole(string) []Privilege {
	return slices.Concat(clusterAdminRole(""), userAdminAnyDatabaseRole(""), dbAdminAnyDatabaseRole(""),
		readWriteAnyDatabaseRole(""),
		restoreRole(""), backupRole(""), []Privilege{{Everything(), list("validate")}})
}

func systemRole(string) []Privilege { return []Privilege{{Everything(), []Action{anyAction}}} }
