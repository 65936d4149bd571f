package commands

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mongoerr"
)

// Refusal is why the mock does not do what a mongos does.
type Refusal struct {
	code    mongoerr.Code
	because string
}

// Err returns the error for a command under the name it was called by.
func (r *Refusal) Err(name string) error {
	switch {
	case r.code != mongoerr.NotImplemented:
		return mongoerr.New(r.code, "%s", r.because)
	case r.because == "":
		return mongoerr.New(r.code, "the mock does not support %s", name)
	}
	return mongoerr.New(r.code, "the mock does not support %s: %s", name, r.because)
}

const (
	noSearch = "Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional " +
		"configuration. Please connect to Atlas or an AtlasCLI local deployment to enable. For more information on " +
		"how to connect, see https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."
	noEncryption = "there is no Queryable Encryption"
	noSettings   = "there are no query settings: use hint"
	amongServers = "servers use it among themselves"
)

// refusedCommands returns those of a mongos that the mock refuses, each with
// its reason. What is in no table, a mongos does not have either, or has for
// its own tests only (enableTestCommands), and answers CommandNotFound.
func refusedCommands() []Command {
	const (
		everywhere = false
		onAdmin    = true
	)
	refuse := func(name string, since catalog.Release, adminOnly bool, e Effect, because string) Command {
		return Command{
			Name: name, Since: since, AdminOnly: adminOnly, WriteConcern: true, Effect: e, Privilege: access.LoggedIn,
			Refused: &Refusal{mongoerr.NotImplemented, because},
		}
	}
	with := func(code mongoerr.Code, cmd Command) Command {
		cmd.Refused.code = code
		return cmd
	}
	var always catalog.Release
	return []Command{
		with(mongoerr.SearchNotEnabled, refuse("createSearchIndexes", catalog.Release70, everywhere, Writes,
			noSearch)),
		with(mongoerr.SearchNotEnabled, refuse("updateSearchIndex", catalog.Release70, everywhere, Writes, noSearch)),
		with(mongoerr.SearchNotEnabled, refuse("dropSearchIndex", catalog.Release70, everywhere, Writes, noSearch)),
		with(mongoerr.SearchNotEnabled, refuse("listSearchIndexes", catalog.Release70, everywhere, Reads, noSearch)),
		with(mongoerr.CommandNotSupported, refuse("compact", always, everywhere, Writes,
			"compact not supported through mongos: run it on the members of the shards")),
		refuse("mapReduce", always, everywhere, Writes,
			"there is no JavaScript in the mock's servers: use aggregate"),
		refuse("filemd5", always, everywhere, Reads, "there is no GridFS in the mock's servers"),
		refuse("killAllSessionsByPattern", always, onAdmin, Interrupts, "use killAllSessions"),
		refuse("coordinateCommitTransaction", always, onAdmin, Writes, "there are no transactions"),
		refuse("compactStructuredEncryptionData", catalog.Release60, everywhere, Writes, noEncryption),
		refuse("cleanupStructuredEncryptionData", catalog.Release70, everywhere, Writes, noEncryption),
		refuse("getQueryableEncryptionCountInfo", catalog.Release80, everywhere, Reads, noEncryption),
		refuse("planCacheSetFilter", always, everywhere, Writes, "there are no index filters: use hint"),
		refuse("setQuerySettings", catalog.Release80, onAdmin, Writes, noSettings),
		refuse("removeQuerySettings", catalog.Release80, onAdmin, Writes, noSettings),
		refuse("autoSplitVector", catalog.Release70, everywhere, Reads, "use splitVector"),
		refuse("changePrimary", catalog.Release80, onAdmin, Writes, "use movePrimary"),
		refuse("validateDBMetadata", catalog.Release50, everywhere, Reads, ""),
		refuse("analyze", catalog.Release70, everywhere, Writes, "there are no statistics of values for queries"),
		refuse("setIndexCommitQuorum", always, everywhere, Writes,
			"indexes are built at once, by a set of one member"),
		refuse("setUserWriteBlockMode", catalog.Release60, onAdmin, Writes, ""),
		refuse("setProfilingFilterGlobally", catalog.Release70, onAdmin, Writes, ""),
		refuse("appendOplogNote", always, onAdmin, Writes, ""),
		refuse("repairShardedCollectionChunksHistory", always, onAdmin, Writes, ""),
		refuse("resetPlacementHistory", catalog.Release70, onAdmin, Writes, ""),
		refuse("rotateCertificates", always, onAdmin, Writes, ""),
		refuse("rotateFTDC", catalog.Release80, onAdmin, Writes, ""),
		refuse("startRecordingTraffic", always, onAdmin, Writes, ""),
		refuse("stopRecordingTraffic", always, onAdmin, Writes, ""),
		refuse("shutdown", always, onAdmin, Writes, "end the process that runs it"),
		with(mongoerr.MechanismUnavailable, refuse("authenticate", always, everywhere, Reads,
			"there is no X.509 authentication: use SCRAM-SHA-256")),
		refuse("_clusterQueryWithoutShardKey", always, onAdmin, Writes, amongServers),
		refuse("_clusterWriteWithoutShardKey", always, onAdmin, Writes, amongServers),
		refuse("_dropConnectionsToMongot", catalog.Release80, onAdmin, Writes, amongServers),
		refuse("_killOperations", always, onAdmin, Interrupts, amongServers),
		refuse("_mergeAuthzCollections", always, onAdmin, Writes, amongServers),
		refuse("_mongotConnPoolStats", catalog.Release80, onAdmin, Reads, amongServers),
	}
}
