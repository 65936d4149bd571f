// Package explain implements explain: the shards and indexes that a command uses, the stages of its
// plan, and their costs.
package explain

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return explainHandlers()
}
