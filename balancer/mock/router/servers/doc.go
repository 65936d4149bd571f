// Package servers implements the commands about a single server: serverStatus, parameters, operations in
// progress, logs, and the routing table cache of a router.
package servers

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
)

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(diagnosticHandlers(), nodeHandlers(), parameterHandlers(), operationHandlers())
}

// Stages returns the initial pipeline stages of this package.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$currentOp":  {OnDatabase: true, AdminOnly: true, Run: currentOpStage},
		"$queryStats": {OnDatabase: true, AdminOnly: true, Since: catalog.Release70, Run: queryStatsStage},
	}
}
