// Package writes implements insert, update, delete, findAndModify and bulkWrite, and the replies to
// retried writes.
package writes

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(writeHandlers(), bulkWriteHandlers())
}
