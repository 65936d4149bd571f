package members_test

import (
	"strings"
)

// lacking are the answers, or fields of them, that a real member has and the
// mock's does not, or not so, with the reason. A star stands for every answer.
var lacking = map[string]string{
	"*wiredTiger":   "there is no WiredTiger",
	"*indexDetails": "they are WiredTiger's",

	"getCmdLineOpts.parsed.storage":                 "a shard of the mock has no files",
	"getCmdLineOpts.parsed.systemLog":               "a shard of the mock has no log file",
	"getCmdLineOpts.parsed.setParameter":            "what the recorded cluster was started with",
	"getCmdLineOpts.parsed.net.unixDomainSocket":    "what the recorded cluster was started with",
	"getCmdLineOpts.parsed.replication.oplogSizeMB": "what the recorded cluster was started with",

	"hello.connectionId":            "it counts",
	"hello.topologyVersion.counter": "it counts changes of the set, of which the mock has none",

	"collections of config.settings":   "its validator is part of the mock",
	"insert into a sharded collection": "the mock refuses what would be lost to the cluster",
	"oplog entry":                      "the mock's oplog has no entries of writes",
}

// absentNames are the members of recorded lists that the mock's members lack, by
// reason.
var absentNames = map[string]map[string]string{
	"databases of local": {"views, of which one is of tenants": "system.tenantMigration.oplogView system.views"},
	"collections of config": {
		"made by who recorded": "g12probe",
	},
	"serverStatus sections": {
		"WiredTiger, the oplog, flow control and admission, which the mock does not have": `flowControl
			oplogTruncation queues recoveryOplogApplier wiredTiger`,
		"counters of what the mock does not count": `changeStreamPreImages directShardConnections electionMetrics indexBuilds
			metrics queryAnalyzers readConcernCounters readPreferenceCounters twoPhaseCommitCoordinator`,
		"tenants": "shardSplits tenantMigrations",
	},
	"listCommands": {
		"they write, or change the server": `appendOplogNote applyOps autoCompact captrunc cleanupStructuredEncryptionData
			cloneCollectionAsCapped compact compactStructuredEncryptionData configureQueryAnalyzer convertToCapped createRole
			createSearchIndexes createUser dropAllRolesFromDatabase dropAllUsersFromDatabase dropConnections dropRole
			dropSearchIndex dropUser emptycapped fsync fsyncUnlock grantPrivilegesToRole grantRolesToRole grantRolesToUser
			killAllSessionsByPattern mapReduce planCacheSetFilter reIndex removeQuerySettings replSetAbortPrimaryCatchUp
			replSetFreeze replSetInitiate replSetMaintenance replSetReconfig replSetResizeOplog replSetStepDown replSetStepUp
			replSetSyncFrom revokePrivilegesFromRole revokeRolesFromRole revokeRolesFromUser rotateCertificates rotateFTDC
			setChangeStreamState setClusterParameter setDefaultRWConcern setFeatureCompatibilityVersion setIndexCommitQuorum
			setProfilingFilterGlobally setQuerySettings setUserWriteBlockMode shutdown startRecordingTraffic
			stopRecordingTraffic updateRole updateSearchIndex updateUser`,
		"servers use them among themselves": `autoSplitVector checkShardingIndex clusterAbortTransaction clusterAggregate
			clusterBulkWrite clusterCommitTransaction clusterCount clusterDelete clusterFind clusterGetMore clusterInsert
			clusterUpdate coordinateCommitTransaction getShardingReady internalRenameIfOptionsAndIndexesMatch prepareTransaction
			replSetGetRBID replSetHeartbeat replSetRequestVotes replSetTestEgress replSetUpdatePosition
			timeseriesCatalogBucketParamsChanged transitionToShardedCluster voteAbortIndexBuild voteCommitIndexBuild`,
		"tenants": `abortShardSplit commitShardSplit donorAbortMigration donorForgetMigration donorStartMigration
			forgetShardSplit getChangeStreamState listDatabasesForAllTenants recipientForgetMigration recipientSyncData
			recipientVoteImportedFiles`,
		"for tests": `clearLog cpuload godinsert httpClientRequest logMessage makeSnapshot pinHistoryReplicated replSetTest
			setCommittedSnapshot sleep stageDebug sysprofile whatsmysni`,
		"the mongos answers them": `analyze analyzeShardKey authenticate dataSize dbCheck dbHash filemd5
			getQueryableEncryptionCountInfo listSearchIndexes rolesInfo usersInfo validate validateDBMetadata`,
	},
}

func absent(path string) (names []string) {
	for _, list := range absentNames[path] {
		names = append(names, strings.Fields(list)...)
	}
	return names
}
