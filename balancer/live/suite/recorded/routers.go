package recorded

// routerDifferences returns the steps with two routers whose reply differs in the mock.
func routerDifferences() map[string]string {
	known := map[string]string{}
	for reason, steps := range map[string][]string{
		"the mock has no transactions": {
			"transaction (local) begun before, reads what moved", "transaction (local) begun before, reads what stayed",
			"transaction (majority) begun before, updates what moved", "transaction (snapshot) begun before, reads what moved",
			"transaction (snapshot) begun before, reads across both",
			"transaction (snapshot) begun before, inserts into what moved",
			"transaction that read the recipient's part: the move",
		},
		"servers ask the owner of a bound that the range leaves out, too": {
			"moved, then find available on what moved",
		},
		"the target of $out is not looked up before it is written": {
			"moved, then aggregate with $out from what moved",
			"flush a database",
		},
		"a refused batch counts once, on a server each of its documents": {
			"moved, then unordered insert across both",
		},
		"a step before, which is not compared, wrote one document more": {
			"moved, then collStats",
			"moved, then $collStats count",
		},
		"the text of an unknown command": {
			"flush, long name",
		},
		"the new chunks lie on other shards": {
			"reshardCollection: available, version, find, getMore: available",
		},
		"empty collections that shards keep are not counted": {
			"movePrimary: stats: stats",
		},
		"the router looks at the database later": {
			"shardCollection of what A sharded already",
		},
		"a database made by its first document has another primary, which drains later": {
			"removeShard begins",
			"removeShard ends",
			"B's list afterwards",
			"B reads with a chunk still there in its cache, available",
			"B reads with a chunk still there in its cache",
			"moveRange by B to the removed shard",
			"addShard while its databases are there",
			"A's list",
		},
	} {
		for _, step := range steps {
			known["21-two-routers: "+step] = reason
		}
	}
	return known
}
