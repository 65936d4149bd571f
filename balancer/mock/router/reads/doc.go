// Package reads answers how documents are found: find, aggregate, count, distinct, the
// cursors they leave, views, change streams, and where $out and $merge write.
package reads

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return readHandlers()
}
