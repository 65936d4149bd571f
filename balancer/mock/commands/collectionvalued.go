package commands

import (
	"slices"

	"shardsh/balancer/mock/args"
)

// valueParsedAsCollection are the commands whose value servers read as a collection name before any other
// check, although it is not one (recorded on 8.0.10).
var valueParsedAsCollection = []string{
	"addShardToZone", "appendOplogNote", "balancerStart", "balancerStatus", "balancerStop", "buildInfo",
	"checkMetadataConsistency", "compact", "connPoolStats", "connPoolSync", "createIndexes", "currentOp", "dbStats",
	"dropIndexes", "dropRole", "dropUser", "flushRouterConfig", "getDiagnosticData", "getLog", "getParameter",
	"getShardMap", "isdbgrid", "killOp", "listCollections", "listCommands", "listShards", "mapReduce", "profile",
	"removeShardFromZone", "replSetGetStatus", "serverStatus", "setDefaultRWConcern", "setIndexCommitQuorum",
	"setParameter", "setProfilingFilterGlobally", "updateRole", "updateUser", "updateZoneKeyRange", "whatsmyuri",
}

// ParsesValueAsCollection reports whether a server reads the command's value as a collection name.
func (c *Command) ParsesValueAsCollection() bool {
	return slices.Contains(valueParsedAsCollection, c.Name)
}

// HasHandParsedCollection reports whether the command reads the name of its collection by hand.
func (c *Command) HasHandParsedCollection() bool {
	return len(c.Fields) > 0 && c.Fields[0].Kind() == args.OldCollection
}
