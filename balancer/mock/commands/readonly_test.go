package commands_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/commands"
)

// ofMembers are the commands of a shard's member, as 8.0.10 lists them.
const ofMembers = `
	abortShardSplit abortTransaction aggregate analyze analyzeShardKey appendOplogNote applyOps authenticate
	autoCompact autoSplitVector buildInfo bulkWrite captrunc checkShardingIndex cleanupOrphaned
	cleanupStructuredEncryptionData clearLog cloneCollectionAsCapped clusterAbortTransaction clusterAggregate
	clusterBulkWrite clusterCommitTransaction clusterCount clusterDelete clusterFind clusterGetMore clusterInsert
	clusterUpdate collMod collStats commitShardSplit commitTransaction compact compactStructuredEncryptionData
	configureFailPoint configureQueryAnalyzer connPoolStats connPoolSync connectionStatus convertToCapped
	coordinateCommitTransaction count cpuload create createIndexes createRole createSearchIndexes createUser
	currentOp dataSize dbCheck dbHash dbStats delete distinct donorAbortMigration donorForgetMigration
	donorStartMigration drop dropAllRolesFromDatabase dropAllUsersFromDatabase dropConnections dropDatabase
	dropIndexes dropRole dropSearchIndex dropUser echo emptycapped endSessions explain features filemd5 find
	findAndModify flushRouterConfig forgetShardSplit fsync fsyncUnlock getChangeStreamState getClusterParameter
	getCmdLineOpts getDatabaseVersion getDefaultRWConcern getDiagnosticData getLog getMore getParameter
	getQueryableEncryptionCountInfo getShardMap getShardVersion getShardingReady godinsert grantPrivilegesToRole
	grantRolesToRole grantRolesToUser hello hostInfo httpClientRequest insert
	internalRenameIfOptionsAndIndexesMatch invalidateUserCache isMaster killAllSessions killAllSessionsByPattern
	killCursors killOp killSessions listCollections listCommands listDatabases listDatabasesForAllTenants
	listIndexes listSearchIndexes lockInfo logMessage logRotate logout makeSnapshot mapReduce mergeChunks
	pinHistoryReplicated ping planCacheClear planCacheClearFilters planCacheListFilters planCacheSetFilter
	prepareTransaction profile reIndex reapLogicalSessionCacheNow recipientForgetMigration recipientSyncData
	recipientVoteImportedFiles refreshLogicalSessionCacheNow refreshSessions removeQuerySettings renameCollection
	replSetAbortPrimaryCatchUp replSetFreeze replSetGetConfig replSetGetRBID replSetGetStatus replSetHeartbeat
	replSetInitiate replSetMaintenance replSetReconfig replSetRequestVotes replSetResizeOplog replSetStepDown
	replSetStepUp replSetSyncFrom replSetTest replSetTestEgress replSetUpdatePosition revokePrivilegesFromRole
	revokeRolesFromRole revokeRolesFromUser rolesInfo rotateCertificates rotateFTDC saslContinue saslStart
	serverStatus setChangeStreamState setClusterParameter setCommittedSnapshot setDefaultRWConcern
	setFeatureCompatibilityVersion setIndexCommitQuorum setParameter setProfilingFilterGlobally setQuerySettings
	setUserWriteBlockMode shardingState shutdown sleep splitChunk splitVector stageDebug startRecordingTraffic
	startSession stopRecordingTraffic sysprofile timeseriesCatalogBucketParamsChanged top
	transitionToShardedCluster update updateRole updateSearchIndex updateUser usersInfo validate
	validateDBMetadata voteAbortIndexBuild voteCommitIndexBuild waitForFailPoint whatsmysni whatsmyuri`

// reading are the commands that change nothing, whatever their arguments. All
// others, those of the table and of members, may change something.
const reading = `
	_isSelf _mongotConnPoolStats authenticate autoSplitVector balancerCollectionStatus balancerStatus buildInfo buildinfo
	checkMetadataConsistency checkShardingIndex collStats collstats connPoolStats connectionStatus count currentOp dataSize
	datasize dbHash dbStats dbstats distinct echo explain features filemd5 find getChangeStreamState getClusterParameter
	getCmdLineOpts getDatabaseVersion getDefaultRWConcern getDiagnosticData getLog getMore getParameter
	getQueryableEncryptionCountInfo getShardMap getShardVersion getShardingReady getshardversion
	getTransitionToDedicatedConfigServerStatus hello hostInfo isMaster isdbgrid ismaster listCollections listCommands
	listDatabases listDatabasesForAllTenants listIndexes listSearchIndexes listShards listshards lockInfo logout
	mockInvariants mockNow mockStatus netstat ping planCacheListFilters refreshSessions replSetGetConfig replSetGetRBID
	replSetGetStatus rolesInfo saslContinue saslStart serverStatus shardDrainingStatus shardingState splitVector
	startSession testVersion2 top usersInfo validate validateDBMetadata waitForFailPoint whatsmysni whatsmyuri`

// Each command that servers know is decided.
func TestReadsOnlyOfEveryCommand(t *testing.T) {
	table := commands.ByName()
	names := strings.Fields(ofMembers)
	for name := range table {
		names = append(names, name)
	}
	reads := strings.Fields(reading)
	for _, name := range names {
		raw, err := bson.Marshal(bson.D{{Key: name, Value: "x"}, {Key: "comment", Value: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if got := commands.IsReadOnly(table, raw); got != slices.Contains(reads, name) {
			t.Errorf("%s reads only: %v", name, got)
		}
	}
	for _, name := range reads {
		if !slices.Contains(names, name) {
			t.Errorf("no server has %s", name)
		}
	}
}

// --read-only lets pass what changes nothing, and refuses what nobody knows.
func TestReadsOnly(t *testing.T) {
	table := commands.ByName()
	e := func(key string, value any) bson.E { return bson.E{Key: key, Value: value} }
	aggregate := func(stages bson.A, more ...bson.E) bson.D {
		return append(bson.D{e("aggregate", "c"), e("pipeline", stages), e("cursor", bson.D{})}, more...)
	}
	out := bson.A{bson.D{e("$match", bson.D{})}, bson.D{e("$out", "copy")}}
	merge := bson.A{bson.D{e("$merge", bson.D{e("into", "copy")})}}
	validate := func(more ...bson.E) bson.D { return append(bson.D{e("validate", "c")}, more...) }
	for _, tt := range []struct {
		command bson.D
		reads   bool
	}{
		{aggregate(bson.A{}), true},
		{aggregate(bson.A{bson.D{e("$match", bson.D{e("a", "$out")})}}), true},
		{aggregate(out), false}, {aggregate(merge), false},
		{aggregate(out, e("explain", true)), true}, {aggregate(merge, e("explain", 1)), true},
		{aggregate(out, e("explain", false)), false}, {aggregate(out, e("explain", "yes")), false},
		{aggregate(out, e("pipeline", bson.A{})), false},
		{aggregate(bson.A{}, e("pipeline", out)), false},
		{aggregate(bson.A{bson.D{e("$out", "copy"), e("$match", bson.D{})}}), false},
		{aggregate(bson.A{bson.D{e("$match", bson.D{}), e("$out", "copy")}}), false},
		{aggregate(bson.A{bson.D{e("$facet", bson.D{e("a", out)})}}), false},
		{aggregate(bson.A{bson.D{e("$lookup", bson.D{e("from", "c"), e("as", "x"), e("pipeline", merge)})}}), false},
		{aggregate(bson.A{bson.D{e("$unionWith", bson.D{e("coll", "c"), e("pipeline", out)})}}), false},
		{aggregate(bson.A{bson.D{e("$queryStats", bson.D{})}}), true},
		{bson.D{e("aggregate", "c"), e("pipeline", "x")}, false},
		{bson.D{e("explain", aggregate(out)), e("verbosity", "executionStats")}, true},
		{bson.D{e("explain", bson.D{e("delete", "c")})}, true},

		{validate(e("full", true), e("background", true)), true},
		{validate(e("repair", false), e("fixMultikey", 0), e("metadata", bson.Null{})), true},
		{validate(e("repair", true)), false}, {validate(e("repair", 1)), false}, {validate(e("repair", 1.5)), false},
		{validate(e("repair", int64(1))), false}, {validate(e("repair", "no")), false}, {validate(e("repair", bson.D{})), false},
		{validate(e("fixMultikey", true)), false}, {validate(e("fixMultikey", "")), false},
		{validate(e("repair", false), e("repair", true)), false}, {validate(e("repair", true), e("repair", false)), false},

		{bson.D{e("profile", -1)}, true}, {bson.D{e("profile", -1.0), e("comment", "x")}, true},
		{bson.D{e("profile", 0)}, false}, {bson.D{e("profile", 2)}, false}, {bson.D{e("profile", "-1")}, false},
		{bson.D{e("profile", -1), e("slowms", 5)}, false}, {bson.D{e("profile", -1), e("filter", "unset")}, false},

		{bson.D{e("mapReduce", "c"), e("out", bson.D{e("inline", 1)})}, true},
		{bson.D{e("mapReduce", "c"), e("out", "copy")}, false}, {bson.D{e("mapReduce", "c")}, false},
		{bson.D{e("mapReduce", "c"), e("out", bson.D{e("inline", 1), e("replace", "copy")})}, false},
		{bson.D{e("mapReduce", "c"), e("out", bson.D{e("merge", "copy")})}, false},

		{bson.D{e("analyzeShardKey", "app.c"), e("key", bson.D{e("a", 1)})}, false},
		{bson.D{e("Find", "c")}, false}, {bson.D{e("FIND", "c")}, false}, {bson.D{e(" find", "c")}, false},
		{bson.D{e("find", "c"), e("find", "c")}, false},
		{bson.D{e("eval", "x")}, false}, {bson.D{e("$eval", "x")}, false}, {bson.D{e("applyOps", bson.A{})}, false},
		{bson.D{e("comment", 1), e("find", "c")}, false}, {bson.D{e("insert", "c"), e("find", "c")}, false},
		{bson.D{e("killCursors", "c"), e("cursors", bson.A{int64(1)})}, false},
		{bson.D{e("noSuchCommand", 1)}, false}, {bson.D{}, false},
	} {
		raw, err := bson.Marshal(tt.command)
		if err != nil {
			t.Fatal(err)
		}
		if got := commands.IsReadOnly(table, raw); got != tt.reads {
			t.Errorf("%v reads only: %v", tt.command, got)
		}
	}
}
