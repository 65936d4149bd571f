// Package sharding implements the commands for shards, zones, chunks, migrations, the balancer,
// resharding, shard keys, and cluster parameters.
package sharding

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
)

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(balancerHandlers(), moveHandlers(), chunkHandlers(), zoneHandlers(), shardingHandlers(),
		reshardingHandlers(), analyzerHandlers(), shardHandlers(), drainingHandlers(), clusterHandlers(),
		clusterParameterHandlers())
}

// Stages returns the initial pipeline stages of this package.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$listSampledQueries": {OnDatabase: true, AdminOnly: true, Since: catalog.Release70, Run: sampledQueriesStage},
	}
}
