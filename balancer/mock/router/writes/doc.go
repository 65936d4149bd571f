// Package writes answers what insert, update, delete, findAndModify and bulkWrite do, one
// statement after another, and what a retryable write that comes again is told.
package writes

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(writeHandlers(), bulkWriteHandlers())
}
