// Package controls answers how a mock is made to do what a server never would: its time,
// crashes, partitions, failures, data, and snapshots; and fail points.
package controls

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(mockHandlers(), failPointHandlers(), snapshotHandlers())
}
