package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
)

// handler answers a command.
type handler func(*call) (bson.D, error)

// command is one entry of the command table.
type command struct {
	name    string
	aliases []string
	// adminOnly: refused with 13 on any other database.
	adminOnly bool
	// takesWriteConcern: others refuse the argument with 72.
	takesWriteConcern bool
	// takesReadConcern: others refuse levels other than local with 72.
	takesReadConcern bool
	// stable: in version 1 of the stable API.
	stable bool
	// strict: unknown fields are refused with 40415.
	strict bool
	// declared fields, parsed before anything else; nil for commands that read
	// their fields by hand.
	declared []args.Field
	// anyone may run it, authenticated or not.
	anyone bool
	// retryable: takes txnNumber.
	retryable bool
	// needs are nodes besides those of the documents it reads or writes.
	needs participants
	// reads: it changes nothing that is kept.
	reads bool
	// privilege is what the caller's roles must allow.
	privilege rule
	// ours: a command of the mock's own, which no fault stops.
	ours bool
	// outside runs without the cluster's lock and takes no virtual time.
	outside bool
	run     handler
}

// parse checks the declared fields of a command's body.
func (cmd *command) parse(body bson.Raw) (args.Values, error) {
	return args.Spec{Name: cmd.name, Aliases: cmd.aliases, Fields: cmd.declared, Strict: cmd.strict}.Parse(body)
}

// since is the first release that has a command, for those that the oldest one
// lacks.
var since = map[string]catalog.Release{
	"validateDBMetadata": catalog.Release50, "getClusterParameter": catalog.Release60, "setClusterParameter": catalog.Release60,
	"setUserWriteBlockMode": catalog.Release60, "compactStructuredEncryptionData": catalog.Release60, "setProfilingFilterGlobally": catalog.Release70,
	"createSearchIndexes": catalog.Release70, "updateSearchIndex": catalog.Release70, "dropSearchIndex": catalog.Release70,
	"listSearchIndexes": catalog.Release70, "cleanupStructuredEncryptionData": catalog.Release70, "analyze": catalog.Release70,
	"autoSplitVector": catalog.Release70, "resetPlacementHistory": catalog.Release70,
	"changePrimary": catalog.Release80, "setQuerySettings": catalog.Release80, "removeQuerySettings": catalog.Release80,
	"getQueryableEncryptionCountInfo": catalog.Release80, "rotateFTDC": catalog.Release80, "_dropConnectionsToMongot": catalog.Release80,
	"_mongotConnPoolStats": catalog.Release80,

	"balancerStart": catalog.Release34, "balancerStop": catalog.Release34, "balancerStatus": catalog.Release34,
	"addShardToZone": catalog.Release34, "removeShardFromZone": catalog.Release34, "updateZoneKeyRange": catalog.Release34,
	"balancerCollectionStatus": catalog.Release44, "clearJumboFlag": catalog.Release44, "refineCollectionShardKey": catalog.Release44,
	"setAllowMigrations": catalog.Release50, "reshardCollection": catalog.Release50, "abortReshardCollection": catalog.Release50,
	"commitReshardCollection": catalog.Release50, "cleanupReshardCollection": catalog.Release50,
	"configureCollectionBalancing": catalog.Release60, "moveRange": catalog.Release60,
	"mergeAllChunksOnShard": catalog.Release70, "checkMetadataConsistency": catalog.Release70,
	"moveCollection": catalog.Release80, "abortMoveCollection": catalog.Release80,
	"unshardCollection": catalog.Release80, "abortUnshardCollection": catalog.Release80, "bulkWrite": catalog.Release80,
	"transitionFromDedicatedConfigServer": catalog.Release80, "transitionToDedicatedConfigServer": catalog.Release80,
	"startShardDraining": catalog.Release83, "stopShardDraining": catalog.Release83, "commitShardRemoval": catalog.Release83, "shardDrainingStatus": catalog.Release83,
	"startTransitionToDedicatedConfigServer": catalog.Release83, "stopTransitionToDedicatedConfigServer": catalog.Release83,
	"commitTransitionToDedicatedConfigServer": catalog.Release83, "getTransitionToDedicatedConfigServerStatus": catalog.Release83,
}

// commandTable has every command of a mongos of the release under its name and
// aliases. A command that is not here answers CommandNotFound.
func commandTable(r catalog.Release) map[string]*command {
	table := tableOf(slices.Concat(
		unbuiltCommands(),
		handshakeCommands(), authenticationCommands(), userCommands(), roleCommands(), sessionCommands(), diagnosticCommands(), readCommands(), writeCommands(), bulkWriteCommands(), explainCommands(),
		catalogCommands(), indexCommands(), statisticsCommands(), balancerCommands(),
		moveCommands(), chunkCommands(), shardingCommands(), reshardingCommands(), zoneCommands(), shardCommands(), drainingCommands(),
		parameterCommands(), operationCommands(), mockCommands(), failPointCommands(), snapshotCommands(),
		collectionCommands(), analyzerCommands(), clusterCommands(),
		clusterParameterCommands(), nodeCommands(),
	))
	for name, cmd := range table {
		if first, newer := since[cmd.name]; newer && !r.AtLeast(first) {
			delete(table, name)
		}
	}
	return table
}

// tableOf finds commands by their names and aliases; the last of a name counts.
func tableOf(commands []command) map[string]*command {
	table, needs, privileges, reads := map[string]*command{}, participantsOf(), privilegesOf(), readingCommands()
	for _, cmd := range commands {
		cmd.needs, cmd.reads = needs[cmd.name], reads[cmd.name]
		if may, named := privileges[cmd.name]; named {
			cmd.privilege = may
		}
		table[cmd.name] = &cmd
		for _, alias := range cmd.aliases {
			table[alias] = &cmd
		}
	}
	return table
}

func ok(*call) (bson.D, error) { return bson.D{}, nil }
