// Package collections answers what databases and collections there are, how they are made,
// changed and indexed, and how much is in them.
package collections

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
)

// Handlers returns the commands of this room, by their names.
func Handlers() map[string]call.Handler {
	return call.Join(catalogHandlers(), collectionHandlers(), indexHandlers(), statisticsHandlers())
}

// Stages returns the first stages of pipelines that this room makes documents for.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$collStats":               {Run: collStatsStage},
		"$indexStats":              {Run: indexStatsStage},
		"$shardedDataDistribution": {Database: true, Anywhere: true, Since: catalog.Release60, Run: dataDistribution},
		"$listClusterCatalog":      {Database: true, Anywhere: true, Run: clusterCatalogStage},
		"$planCacheStats":          {Run: planCacheStage},
	}
}
