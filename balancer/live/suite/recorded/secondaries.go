package recorded

// secondaryDifferences are the steps about a secondary that lags that the mock answers otherwise.
func secondaryDifferences() map[string]string {
	known := map[string]string{}
	for reason, steps := range map[string][]string{
		"members in this process have no ports, and no arbiters": {
			"getDefaultRWConcern of a shard's member", "moved while lagging: asked directly, no version",
			"hello of the far member", "replSetGetStatus at the primary", "replSetGetStatus at the far member",
			"serverStatus repl of the far member", "printSecondaryReplicationInfo's numbers",
			"caught up: far, asked directly: orphans", "reconfig of shard0 with an arbiter",
			"a set with an arbiter: its default", "a set with an arbiter: a write", "a set with an arbiter: addShard",
		},
		"members have no tags: the secondary is the one that is behind": {
			"healthy: find nearest with unknown tags", "lagging: near, no level: count", "lagging: near, local: count",
			"lagging: near, available: count", "lagging: near, majority: count", "lagging: afterClusterTime at the near one",
			"lagging: insert with w tags", "moved while lagging: near, local", "moved while lagging: near, available",
			"connPoolStats of the router", "behind for more than 90 s: any secondary within 90 s",
			"behind for more than 90 s: nearest far within 90 s",
		},
		"a shard has one secondary that can be behind, which is no majority of three": {
			"both lag: insert, majority", "both lag: insert, default with a limit of time", "both lag: primary reads majority",
			"both lag: primary reads linearizable", "both lag: primary reads snapshot",
			"both lag: primary reads majority afterClusterTime",
		},
		"where no secondary is behind, primaries answer for them": {
			"healthy: secondary where the shard has one member", "healthy: secondary where one of the shards has one member",
			"lagging: dbStats", "lagging: $currentOp",
		},
		"primaries answer what reads no documents": {
			"lagging: listIndexes", "lagging: $indexStats", "lagging: $collStats", "lagging: collStats", "lagging: explain",
		},
		"the mock has no transactions": {
			"lagging: a transaction committed with w 3", "lagging: what was written in spite of it",
		},
		"the shell gives the times of a causal session to finds only, and the shard ends the wait before the router": {
			"lagging: causal session, write then read far", "lagging: causal session, read far only",
			"lagging: causal session through the cursor",
		},
		"what takes a server a second takes the mock no time": {
			"lagging: create with w 3", "lagging: $out with w 3", "lagging: moveRange away",
			"moved while lagging: with waitForDelete and no delay",
		},
		"members.js lets go of all ranges at once, not of those that are new": {
			"caught up: far, available, moved", "with them: far, available by default",
		},
		"the driver waits for the reply": {"lagging: insert with w 0"},
		"counters of commands of which none has run are left out": {
			"serverStatus of the router: words of lag or replication",
		},
		"the counts of an index that is new stand in the shard's part only": {
			"lagging: createIndexes on an empty collection does not",
		},
	} {
		for _, step := range steps {
			known["22-secondaries: "+step] = reason
		}
	}
	return known
}
