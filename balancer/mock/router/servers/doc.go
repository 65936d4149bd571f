// Package servers answers how a server is: serverStatus, parameters, operations under way,
// logs, and what a router knows of where collections lie.
package servers

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
)

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(diagnosticHandlers(), nodeHandlers(), parameterHandlers(), operationHandlers())
}

// Stages returns the initial pipeline stages that this package makes documents for.
func Stages() map[string]call.InitialStage {
	return map[string]call.InitialStage{
		"$currentOp":  {Database: true, AdminOnly: true, Run: currentOpStage},
		"$queryStats": {Database: true, AdminOnly: true, Since: catalog.Release70, Run: queryStatsStage},
	}
}
