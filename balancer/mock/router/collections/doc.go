// Package collections implements the commands that list, create, modify and drop databases, collections
// and indexes, and those that return their statistics.
package collections

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
)

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(catalogHandlers(), collectionHandlers(), indexHandlers(), statisticsHandlers())
}

// Stages returns the initial pipeline stages of this package.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$collStats":  {Run: collStatsStage},
		"$indexStats": {Run: indexStatsStage},
		"$shardedDataDistribution": {OnDatabase: true, ChecksDatabase: true, Since: catalog.Release60,
			Run: dataDistributionStage},
		"$listClusterCatalog": {OnDatabase: true, ChecksDatabase: true, Since: catalog.Release80,
			Run: clusterCatalogStage},
		"$planCacheStats": {Run: planCacheStage},
	}
}
