package access

import (
	"slices"
	"strings"
)

// anyAction grants every action.
const anyAction Action = "anyAction"

// knownActions are the action names that a role's privileges may use: the actions in the MongoDB 8.0
// manual and the actions of commands of later releases.
var knownActions = parseActions(`
	addShard analyzeShardKey anyAction appendOplogNote applicationMessage authCheck bypassDocumentValidation
	changeCustomData changeOwnCustomData changeOwnPassword changePassword changeStream checkMetadataConsistency
	cleanupOrphaned clearJumboFlag closeAllDatabases collMod collStats compact compactStructuredEncryptionData
	configureQueryAnalyzer connPoolStats connPoolSync convertToCapped cpuProfiler createCollection createDatabase
	createIndex createRole createSearchIndexes createUser dbHash dbStats diagLogging dropAllRolesFromDatabase
	dropAllUsersFromDatabase dropCollection dropConnections dropDatabase dropIndex dropRole dropSearchIndex dropUser
	enableProfiler enableSharding find flushRouterConfig forceUUID fsync getClusterParameter getCmdLineOpts
	getDatabaseVersion getDefaultRWConcern getLog getParameter getShardMap getShardVersion grantRole hostInfo
	impersonate indexStats inprog insert internal invalidateUserCache issueDirectShardOperations killAnyCursor
	killAnySession killCursors killop listCachedAndActiveUsers listCollections listDatabases listIndexes
	listSampledQueries listSearchIndexes listSessions listShards logRotate moveChunk moveCollection netstat
	oidReset operationMetrics planCacheIndexFilter planCacheRead planCacheWrite queryStatsRead
	queryStatsReadTransformed refineCollectionShardKey reIndex remove removeShard renameCollection
	renameCollectionSameDB repairDatabase replSetConfigure replSetGetConfig replSetGetStatus replSetHeartbeat
	replSetReconfig replSetResizeOplog replSetStateChange reshardCollection resync revokeRole rotateCertificates
	serverStatus setAuthenticationRestriction setClusterParameter setDefaultRWConcern
	setFeatureCompatibilityVersion setParameter setUserWriteBlockMode shardedDataDistribution
	shardDrainingStatus shardingState shutdown splitChunk splitVector storageDetails top touch
	transitionFromDedicatedConfigServer transitionToDedicatedConfigServer trafficRecord unlock unsetSharding
	unshardCollection update updateRole updateSearchIndex updateUser useUUID validate viewRole viewUser`)

// IsKnown reports whether the action exists.
func (a Action) IsKnown() bool { return slices.Contains(knownActions, a) }

// parseActions splits a string of names separated by white space.
func parseActions(text string) []Action {
	var names []Action
	for _, name := range strings.Fields(text) {
		names = append(names, Action(name))
	}
	return names
}
