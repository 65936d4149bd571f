// Package explain answers how a command would be run: which shards and indexes, in which
// stages, and what that cost.
package explain

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return explainHandlers()
}
