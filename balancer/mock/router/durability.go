package router

import "context"

// readingCommands change nothing that is kept. Of the rest each waits for the
// disk before it is answered: what it has found done may have been done by
// somebody else whose change is not written yet.
func readingCommands() map[string]bool {
	reads := map[string]bool{}
	for _, name := range []string{
		"find", "aggregate", "count", "distinct", "explain", "getMore", "killCursors", "listDatabases",
		"listCollections", "listIndexes", "listShards", "listCommands", "dbStats", "collStats", "dataSize",
		"splitVector", "validate", "balancerStatus", "balancerCollectionStatus", "checkMetadataConsistency",
		"analyzeShardKey", "shardDrainingStatus", "getTransitionToDedicatedConfigServerStatus", "usersInfo",
		"rolesInfo", "connectionStatus", "startSession", "getParameter", "getClusterParameter",
		"getDefaultRWConcern", "serverStatus", "buildInfo", "hostInfo", "getCmdLineOpts", "getLog",
		"getDiagnosticData", "isdbgrid", "netstat", "whatsmyuri", "echo", "_isSelf", "replSetGetStatus",
		"getShardMap", "getShardVersion", "getDatabaseVersion", "connPoolStats", "lockInfo", "currentOp", "killOp",
		"mockStatus", "mockNow", "mockInvariants",
	} {
		reads[name] = true
	}
	return reads
}

// whenWritten hands what a command has changed over to be written, and returns a
// function that waits until the reply may be sent. A read waits for nothing,
// unless it must not show what a crash could take back.
func whenWritten(cmd *command, c *call) (wait func(context.Context) error) {
	if cmd != nil && (!cmd.reads || readsDurably(c)) {
		return c.cluster.Written()
	}
	err := c.cluster.HandOver()
	return func(context.Context) error { return err }
}

// readsDurably reports whether a reading command shows only what is on disk:
// one with the read concern majority, linearizable or snapshot, given or by
// default, and one that reads a change stream. An aggregation that writes its
// results is no read.
func readsDurably(c *call) bool {
	if !c.cluster.KeepsWrites() {
		return false
	}
	if id, ok := c.body.Lookup("getMore").AsInt64OK(); ok {
		open := c.node.cursors.open[id]
		return open != nil && open.stream != nil
	}
	if _, _, streams := c.watches(); streams || writesOut(c.body) {
		return true
	}
	level, err := c.readConcern()
	if err != nil {
		return false // and refused
	}
	if level == "" {
		level = c.cluster.ClusterParameters().DefaultReadLevel()
	}
	return level != "local" && level != "available"
}
