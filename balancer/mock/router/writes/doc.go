// Package writes answers what insert, update, delete, findAndModify and bulkWrite do, one
// statement after another, and what a retryable write that comes again is told.
package writes

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this room, by their names.
func Handlers() map[string]call.Handler {
	return call.Join(writeHandlers(), bulkWriteHandlers())
}
