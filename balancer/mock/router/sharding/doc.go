// Package sharding answers what an operator does to a sharded cluster: shards, zones,
// chunks, moves, the balancer, resharding, shard keys, and the cluster's parameters.
package sharding

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(balancerHandlers(), moveHandlers(), chunkHandlers(), zoneHandlers(), shardingHandlers(),
		reshardingHandlers(), analyzerHandlers(), shardHandlers(), drainingHandlers(), clusterHandlers(),
		clusterParameterHandlers())
}

// Stages returns the initial pipeline stages that this package makes documents for.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$listSampledQueries": {Database: true, AdminOnly: true, Run: sampledQueriesStage},
	}
}
