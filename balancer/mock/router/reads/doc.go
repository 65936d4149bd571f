// Package reads implements find, aggregate, count and distinct, their cursors, views, change streams,
// and the output stages $out and $merge.
package reads

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return readHandlers()
}
