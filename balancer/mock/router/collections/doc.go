// Package collections answers what databases and collections there are, how they are made,
// changed and indexed, and how much is in them.
package collections

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
)

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(catalogHandlers(), collectionHandlers(), indexHandlers(), statisticsHandlers())
}

// Stages returns the initial pipeline stages that this package makes documents for.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$collStats":               {Run: collStatsStage},
		"$indexStats":              {Run: indexStatsStage},
		"$shardedDataDistribution": {Database: true, ChecksPlace: true, Since: catalog.Release60, Run: dataDistribution},
		"$listClusterCatalog":      {Database: true, ChecksPlace: true, Run: clusterCatalogStage},
		"$planCacheStats":          {Run: planCacheStage},
	}
}
