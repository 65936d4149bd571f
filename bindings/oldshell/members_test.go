package oldshell_test

import (
	"fmt"
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestMembersOfTheOldShell: what rules/04-values-and-language §4.11 and the old shell's documentation
// name is there.
func TestMembersOfTheOldShell(t *testing.T) {
	for object, members := range map[string]string{
		"assert": `automsg between betweenEx betweenIn close closeWithinMS commandFailed commandFailedWithCode commandWorked
			commandWorkedIgnoringWriteConcernErrors commandWorkedIgnoringWriteErrors commandWorkedOrFailedWithCode contains containsPrefix
			docEq doesNotThrow dropExceptionsWithCode eq fieldsEqual fuzzySameMembers gt gte hasFields includes isnull lt lte neq noAPIParams
			retry retryNoExcept sameMembers setEq soon soonNoExcept throws throwsWithCode time writeError writeErrorWithCode writeOK
			equal strictEqual deepStrictEqual rejects fail match`,
		"assert.eq": "automsg", "assert.throws": "automsg", "assert.doesNotThrow": "automsg",
		"jsTest": "name log options isMongos authenticate authenticateNodes",
		"db.getMongo()": `adminCommand close getClusterTime getCollection getDB getDBNames getDBs getDatabaseNames getLogComponents
			getMaxWireVersion getMinWireVersion getReadConcern getReadPref getReadPrefMode getReadPrefTagSet getSecondaryOk getSlaveOk getURI
			getWriteConcern hasPrimary hello host isCausalConsistency isMongos isReplicaSetMember isTLS setCausalConsistency setLogLevel
			setReadConcern setReadPref setSecondaryOk setSlaveOk setWriteConcern startSession tojson unsetWriteConcern watch`,
		"db.c.find()": `addOption allowDiskUse allowPartialResults arrayAccess batchSize close collation comment count countReturn explain
			forEach getClusterTime getId getQueryPlan hasNext hint isClosed isExhausted itcount length limit map max maxAwaitTimeMS
			maxTimeMS min next noCursorTimeout objsLeftInBatch pretty projection readConcern readOnly readPref returnKey shellPrint
			showDiskLoc showRecordId size skip snapshot sort tailable toArray tryNext`,
		"db": `adminCommand aggregate auth changeUserPassword cloneCollection cloneDatabase commandHelp copyDatabase createCollection
			createRole createUser createView currentOp dbEval dropAllRoles dropAllUsers dropDatabase dropRole dropUser enableFreeMonitoring
			eval forceError fsyncLock fsyncUnlock getCollection getCollectionInfos getCollectionNames getFreeMonitoringStatus getLastError
			getLastErrorCmd getLastErrorObj getLogComponents getMongo getName getPrevError getProfilingLevel getProfilingStatus
			getQueryOptions getReplicationInfo getRole getRoles getSession getSiblingDB getSisterDB getSlaveOk getSecondaryOk getUser
			getUsers getWriteConcern grantPrivilegesToRole grantRolesToRole grantRolesToUser groupcmd hello hostInfo isMaster killOP killOp
			listCommands loadServerScripts logout printCollectionStats printReplicationInfo printSecondaryReplicationInfo
			printShardingStatus printSlaveReplicationInfo removeUser resetError revokePrivilegesFromRole revokeRolesFromRole
			revokeRolesFromUser rotateCertificates runCommand runReadCommand serverBits serverBuildInfo serverCmdLineOpts serverStatus
			setLogLevel setProfilingLevel setSecondaryOk setSlaveOk setWriteConcern shutdownServer stats tojson unsetWriteConcern
			updateRole updateUser version watch`,
		"db.c": `aggregate bulkWrite convertToCapped copyTo count countDocuments createIndex createIndexes dataSize deleteMany deleteOne
			distinct drop dropIndex dropIndexes ensureIndex estimatedDocumentCount exists explain find findAndModify findOne
			findOneAndDelete findOneAndReplace findOneAndUpdate getDB getFullName getIndexKeys getIndexSpecs getIndexes getIndices getMongo
			getName getPlanCache getQueryOptions getSecondaryOk getShardDistribution getShardVersion getSlaveOk getWriteConcern group
			groupcmd hideIndex initializeOrderedBulkOp initializeUnorderedBulkOp insert insertMany insertOne isCapped latencyStats mapReduce
			reIndex remove renameCollection replaceOne runCommand runReadCommand save setSecondaryOk setSlaveOk setWriteConcern shellPrint
			stats storageSize tojson totalIndexSize totalSize unhideIndex unsetWriteConcern update updateMany updateOne validate watch`,
		"db.getMongo().startSession()": `abortTransaction advanceClusterTime advanceOperationTime commitTransaction endSession getClient
			getClusterTime getDatabase getOperationTime getOptions getSessionId hasEnded startTransaction withTransaction`,
		"globalThis": `tojson tojsononeline tojsonObject printjsononeline assert jsTest Random cat ls pwd cd mkdir removeFile hostname
			getHostName hex_md5 bsonWoCompare bsonBinaryEqual friendlyEqual isNumber isString isObject ErrorCodes ErrorCodeStrings DB
			DBCollection DBQuery DBCommandCursor BulkWriteResult WriteResult printShardingStatus printShardingSizes setVerboseShell
			shellPrint run runProgram`,
	} {
		c := shelltest.ConnectMock(t, mock.Config{})
		for name := range strings.FieldsSeq(members) {
			// A name that is not a member is a collection on databases and collections.
			got, failed := c.Show(fmt.Sprintf("var on = %s; %q in Object(on) && !(on[%q] instanceof DBCollection)", object, name, name))
			if failed || got != "true" {
				t.Errorf("%s.%s: %s", object, name, got)
			}
		}
	}
}

// TestErrorCodes: the names of 8.0, also former ones, and their categories.
func TestErrorCodes(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{})
	shelltest.Run(t, c,
		step{"Object.keys(ErrorCodes).length > 400 && Object.keys(ErrorCodeStrings).length > 400", "true"},
		step{"[ErrorCodes.NamespaceNotFound, ErrorCodes.StaleConfig, ErrorCodes.IndexBuildAborted, ErrorCodes.LockFailed]", "[ 26, 13388, 276, 107 ]"},
		step{"[ErrorCodes.FileRenameFailed, ErrorCodes.WriteConcernFailed, ErrorCodes.NotMaster, ErrorCodes.CappedPositionLost]", "[ 37, 64, 10107, 136 ]"},
		step{"[ErrorCodeStrings[11600], ErrorCodeStrings[9001], ErrorCodeStrings[339]].join()", "InterruptedAtShutdown,SocketException,NoSuchReshardCollection"},
		step{"Object.keys(ErrorCodes).every(n => ErrorCodeStrings[ErrorCodes[n]] === n)", "true"},
		step{"[ErrorCodes.isRetriableError(11602), ErrorCodes.isRetriableError('HostUnreachable'), ErrorCodes.isRetriableError(26)]", "[ true, true, false ]"},
		step{"[ErrorCodes.isNetworkError(6), ErrorCodes.isInterruption(11601), ErrorCodes.isNotPrimaryError(189), ErrorCodes.isNotMasterError('NotMaster')]", "[ true, true, true, true ]"},
		step{"[ErrorCodes.isShutdownError(91), ErrorCodes.isExceededTimeLimitError(50), ErrorCodes.isSnapshotError(250), ErrorCodes.isWriteConcernError(64)]", "[ true, true, true, true ]"},
		step{"[ErrorCodes.isStaleShardVersionError(13388), ErrorCodes.isCursorInvalidatedError(43), ErrorCodes.isNetworkError('nope'), ErrorCodes.isNetworkError()]", "[ true, true, false, false ]"},
		step{"try { db.adminCommand({nope: 1}) } catch (e) { [ErrorCodes[e.codeName] === e.code, ErrorCodes.isRetriableError(e)] }", "[ true, false ]"},
	)
}

// TestOldMembersWork: what they return and change.
func TestOldMembersWork(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c,
		step{"db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]).acknowledged", "true"},
		step{"[db.getMongo().isMongos(), jsTest.isMongos(db.getMongo()), db.getMongo().isReplicaSetMember(), db.getMongo().hasPrimary()]", "[ true, true, false, true ]"},
		step{"[db.getMongo().getMinWireVersion(), db.getMongo().getMaxWireVersion(), db.getMongo().isTLS()]", "[ 0, 25, false ]"},
		step{"db.getMongo().getDatabaseNames()", "[ 'admin', 'config', 'test' ]"},
		step{"const cur = db.c.find().batchSize(2); cur.next(); [cur.getId().toNumber() != 0, cur.objsLeftInBatch(), cur.countReturn()]", "[ true, 1, 2 ]"},
		step{"db.c.find().sort({_id: 1}).arrayAccess(1)", "{ _id: 2 }"},
		step{"db.setWriteConcern({w: 1}); [db.getWriteConcern(), db.c.getWriteConcern(), db.getMongo().getWriteConcern()]", "[ { w: 1 }, { w: 1 }, undefined ]"},
		step{"db.c.setWriteConcern('majority', 500); db.c.getWriteConcern()", "{ w: 'majority', wtimeout: 500 }"},
		step{"db.c.insertOne({_id: 4}).acknowledged", "true"},
		step{"db.c.setWriteConcern({w: 0}); db.c.insertOne({_id: 5}).acknowledged", "false"},
		step{"db.c.unsetWriteConcern(); db.unsetWriteConcern(); [db.c.getWriteConcern(), db.getWriteConcern()]", "[ undefined, undefined ]"},
		step{"const se = db.getMongo().startSession(); [se.getDatabase('x').getSession() === se, db.getSession(), se.getClient() === db.getMongo(), se.getSessionId().id.sub_type]", "[ true, null, true, 4 ]"},
		step{"db.c.runReadCommand('count').n", "5"},
		step{"try { db.c.group({}) } catch (e) { e.message }", "[COMMON-10003] `group()` was removed in MongoDB 4.2; use aggregate()"},
		step{"try { db.eval('1') } catch (e) { e.name }", "MongoshDeprecatedError"},
		step{"db.tojson() + ' ' + db.c.tojson() + ' ' + db.getMongo().tojson()", "test test.c connection to mock:27017"},
		step{"jsTest.options().x", ""},
	)
	if got, _ := c.Show("jsTest.log('moving'); jsTest.log({a: 1})"); !strings.Contains(got, "] moving\n") || !strings.Contains(got, `{ "a" : 1 }`) {
		t.Errorf("jsTest.log prints %s", got)
	}
}
