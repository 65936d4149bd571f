package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// unbuilt is a command that a mongos has and the mock has not.
type unbuilt struct {
	names     []string
	adminOnly bool
	code      mongoerr.Code
	because   string
}

// unbuiltCommands refuse what a mongos would do and the mock can't, each with
// its reason. A command of the same name elsewhere in the table takes the place
// of the refusal. What is in no table, a mongos does not have either, or has for
// its own tests only (enableTestCommands), and answers CommandNotFound.
func unbuiltCommands() []command {
	var commands []command
	for _, u := range []unbuilt{
		{[]string{"createSearchIndexes", "updateSearchIndex", "dropSearchIndex", "listSearchIndexes"}, false, mongoerr.SearchNotEnabled,
			"Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional configuration. " +
				"Please connect to Atlas or an AtlasCLI local deployment to enable. " +
				"For more information on how to connect, see https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."},
		{[]string{"compact"}, false, mongoerr.CommandNotSupported, "compact not supported through mongos: run it on the members of the shards"},
		{[]string{"mapReduce"}, false, mongoerr.NotImplemented, "there is no JavaScript in the mock's servers: use aggregate"},
		{[]string{"filemd5"}, false, mongoerr.NotImplemented, "there is no GridFS in the mock's servers"},
		{[]string{"killAllSessionsByPattern"}, true, mongoerr.NotImplemented, "use killAllSessions"},
		{[]string{"coordinateCommitTransaction"}, true, mongoerr.NotImplemented, "there are no transactions"},
		{[]string{"compactStructuredEncryptionData", "cleanupStructuredEncryptionData", "getQueryableEncryptionCountInfo"}, false, mongoerr.NotImplemented,
			"there is no Queryable Encryption"},
		{[]string{"planCacheSetFilter"}, false, mongoerr.NotImplemented, "there are no index filters: use hint"},
		{[]string{"setQuerySettings", "removeQuerySettings"}, true, mongoerr.NotImplemented, "there are no query settings: use hint"},
		{[]string{"autoSplitVector"}, false, mongoerr.NotImplemented, "use splitVector"},
		{[]string{"changePrimary"}, true, mongoerr.NotImplemented, "use movePrimary"},
		{[]string{"validateDBMetadata"}, false, mongoerr.NotImplemented, ""},
		{[]string{"analyze"}, false, mongoerr.NotImplemented, "there are no statistics of values for queries"},
		{[]string{"setIndexCommitQuorum"}, false, mongoerr.NotImplemented, "indexes are built at once, by a set of one member"},
		{[]string{"setUserWriteBlockMode", "setProfilingFilterGlobally", "appendOplogNote", "repairShardedCollectionChunksHistory",
			"resetPlacementHistory", "rotateCertificates", "rotateFTDC", "startRecordingTraffic", "stopRecordingTraffic"}, true, mongoerr.NotImplemented, ""},
		{[]string{"shutdown"}, true, mongoerr.NotImplemented, "end the process that runs it"},
		{[]string{"authenticate"}, false, mongoerr.MechanismUnavailable, "there is no X.509 authentication: use SCRAM-SHA-256"},
		{[]string{"_clusterQueryWithoutShardKey", "_clusterWriteWithoutShardKey", "_dropConnectionsToMongot", "_killOperations",
			"_mergeAuthzCollections", "_mongotConnPoolStats"}, true, mongoerr.NotImplemented, "servers use it among themselves"},
	} {
		for _, name := range u.names {
			commands = append(commands, command{name: name, adminOnly: u.adminOnly, takesWriteConcern: true, privilege: loggedIn, run: u.refuse})
		}
	}
	return commands
}

func (u unbuilt) refuse(c *call) (bson.D, error) {
	switch {
	case u.code != mongoerr.NotImplemented:
		return nil, mongoerr.New(u.code, "%s", u.because)
	case u.because == "":
		return nil, mongoerr.New(u.code, "the mock does not support %s", c.invoked)
	}
	return nil, mongoerr.New(u.code, "the mock does not support %s: %s", c.invoked, u.because)
}
