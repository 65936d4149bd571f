package commands

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// Refusal is the reason why the mock does not implement a command.
type Refusal struct {
	code    mongoerr.Code
	because string
}

// Err returns the error for a command under the name that the client used.
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
	noEncryption    = "there is no Queryable Encryption"
	noSettings      = "there are no query settings: use hint"
	internalCommand = "servers use it among themselves"
)

// refusedCommands returns the mongos commands that the mock does not implement, each with the reason. A
// command that is in no table does not exist on mongos or exists only with enableTestCommands. It fails
// with CommandNotFound.
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
	// takes sets the fields that servers parse, so that a call without them fails as on a server.
	takes := func(cmd Command, when Parsing, groups ...[]args.Field) Command {
		cmd.Fields, cmd.ParsedAt = fields(groups...), when
		return cmd
	}
	strict := func(cmd Command) Command {
		cmd.Strict = true
		return cmd
	}
	search := func(name string, e Effect, groups ...[]args.Field) Command {
		cmd := with(mongoerr.SearchNotEnabled, refuse(name, catalog.Release70, everywhere, e, noSearch))
		return takes(cmd, AtOnce, required(args.Collection, name), fields(groups...))
	}
	encrypted := func(name string, since catalog.Release, e Effect, groups ...[]args.Field) Command {
		cmd := strict(refuse(name, since, everywhere, e, noEncryption))
		return takes(cmd, AtOnce, required(args.Collection, name), fields(groups...))
	}
	var always catalog.Release
	return []Command{
		search("createSearchIndexes", Writes, required(args.Array, "indexes")),
		search("updateSearchIndex", Writes, required(args.Object, "definition")),
		search("dropSearchIndex", Writes),
		search("listSearchIndexes", Reads),
		with(mongoerr.CommandNotSupported, refuse("compact", always, everywhere, Writes,
			"compact not supported through mongos: run it on the members of the shards")),
		strict(takes(refuse("mapReduce", always, everywhere, Writes,
			"there is no JavaScript in the mock's servers: use aggregate"), Late,
			required(args.Collection, "mapReduce"), required(args.Any, "map", "reduce", "out"),
			optional(args.Object, "query", "sort", "collation", "scope", "let"), optional(args.SafeInt, "limit"),
			optional(args.Any, "finalize", "jsMode"), optional(args.SafeBool, "verbose", "bypassDocumentValidation"),
			routerFields())),
		refuse("killAllSessionsByPattern", always, onAdmin, Interrupts, "use killAllSessions"),
		refuse("coordinateCommitTransaction", always, onAdmin, Writes, "there are no transactions"),
		encrypted("compactStructuredEncryptionData", catalog.Release60, Writes,
			required(args.Object, "compactionTokens"), optional(args.Object, "encryptionInformation"),
			optional(args.Any, "anchorPaddingFactor")),
		encrypted("cleanupStructuredEncryptionData", catalog.Release70, Writes,
			required(args.Object, "cleanupTokens"), optional(args.Object, "encryptionInformation")),
		encrypted("getQueryableEncryptionCountInfo", catalog.Release80, Reads,
			required(args.Array, "tokens"), required(args.String, "queryType")),
		takes(refuse("planCacheSetFilter", always, everywhere, Writes, "there are no index filters: use hint"), NameFirst,
			required(args.OldCollection, "planCacheSetFilter"),
			[]args.Field{args.Required("query", args.Object).WithMissingCode(mongoerr.BadValue)},
			[]args.Field{args.Required("indexes", args.Array).WithMissingCode(mongoerr.BadValue)}),
		strict(takes(refuse("setQuerySettings", catalog.Release80, onAdmin, Writes, noSettings), AtOnce,
			required(args.QueryShape, "setQuerySettings"), required(args.Object, "settings"))),
		strict(takes(refuse("removeQuerySettings", catalog.Release80, onAdmin, Writes, noSettings), AtOnce,
			required(args.QueryShape, "removeQuerySettings"))),
		takes(refuse("autoSplitVector", catalog.Release70, everywhere, Reads, "use splitVector"), AtOnce,
			required(args.Collection, "autoSplitVector"), required(args.Object, "keyPattern", "min", "max"),
			required(args.SafeInt, "maxChunkSizeBytes"), optional(args.SafeInt, "limit")),
		takes(refuse("changePrimary", catalog.Release80, onAdmin, Writes, "use movePrimary"), AtOnce,
			required(args.Database, "changePrimary"), required(args.Shard, "to")),
		strict(takes(refuse("validateDBMetadata", catalog.Release50, everywhere, Reads, ""), AtOnce,
			required(args.Any, "validateDBMetadata"), required(args.Object, "apiParameters"),
			optional(args.String, "db", "collection"))),
		strict(takes(with(mongoerr.AnalyzeNotEnabled, refuse("analyze", catalog.Release70, everywhere, Writes,
			"the analyze command is not enabled")), AtOnce,
			required(args.Collection, "analyze"), optional(args.String, "key"), optional(args.Any, "sampleRate"),
			optional(args.SafeInt, "sampleSize", "numberBuckets"))),
		strict(takes(refuse("setIndexCommitQuorum", always, everywhere, Writes,
			"indexes are built at once, by a set of one member"), Late,
			required(args.OldCollection, "setIndexCommitQuorum"), required(args.Any, "commitQuorum"),
			required(args.Array, "indexNames"))),
		strict(takes(refuse("setUserWriteBlockMode", catalog.Release60, onAdmin, Writes, ""), AtOnce,
			required(args.Any, "setUserWriteBlockMode"), required(args.Bool, "global"))),
		with(mongoerr.ProfilingFilterNotEnabled, refuse("setProfilingFilterGlobally", catalog.Release70, everywhere, Writes,
			"setProfilingFilterGlobally command requires query knob to be enabled")),
		takes(refuse("appendOplogNote", always, onAdmin, Writes, ""), Late,
			[]args.Field{args.Required("data", args.Object).WithMissingCode(mongoerr.NoSuchKey)}),
		takes(refuse("repairShardedCollectionChunksHistory", always, onAdmin, Writes, ""), AtOnce,
			required(args.Namespace, "repairShardedCollectionChunksHistory"), optional(args.Bool, "force")),
		refuse("resetPlacementHistory", catalog.Release70, onAdmin, Writes, ""),
		refuse("rotateCertificates", always, onAdmin, Writes, ""),
		takes(refuse("startRecordingTraffic", always, onAdmin, Writes, ""), AtOnce,
			required(args.Any, "startRecordingTraffic"), required(args.String, "filename")),
		refuse("stopRecordingTraffic", always, onAdmin, Writes, ""),
		takes(refuse("shutdown", always, onAdmin, Writes, "end the process that runs it"), AtOnce,
			required(args.Any, "shutdown"), optional(args.Bool, "force"), optional(args.SafeInt, "timeoutSecs")),
		with(mongoerr.MechanismUnavailable, refuse("authenticate", always, everywhere, Reads,
			"there is no X.509 authentication: use SCRAM-SHA-256")),
		refuse("_clusterQueryWithoutShardKey", always, onAdmin, Writes, internalCommand),
		refuse("_clusterWriteWithoutShardKey", always, onAdmin, Writes, internalCommand),
		refuse("_dropConnectionsToMongot", catalog.Release80, onAdmin, Writes, internalCommand),
		refuse("_killOperations", always, onAdmin, Interrupts, internalCommand),
		refuse("_mergeAuthzCollections", always, onAdmin, Writes, internalCommand),
		refuse("_mongotConnPoolStats", catalog.Release80, onAdmin, Reads, internalCommand),
	}
}
