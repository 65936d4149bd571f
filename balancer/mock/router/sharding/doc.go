// Package sharding answers what an operator does to a sharded cluster: shards, zones,
// chunks, moves, the balancer, resharding, shard keys, and the cluster's parameters.
package sharding

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this room, by their names.
func Handlers() map[string]call.Handler {
	return call.Join(
		balancerHandlers(), moveHandlers(), chunkHandlers(), zoneHandlers(), shardingHandlers(),
		reshardingHandlers(), analyzerHandlers(), shardHandlers(), drainingHandlers(), clusterHandlers(),
		clusterParameterHandlers(),
	)
}

// Stages returns the first stages of pipelines that this room makes documents for.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$listSampledQueries": {Database: true, AdminOnly: true, Run: sampledQueriesStage},
	}
}
