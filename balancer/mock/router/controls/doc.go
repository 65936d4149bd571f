// Package controls implements the commands that control a mock in ways a server cannot be controlled:
// time, crashes, partitions, failures, data and snapshots. It also implements fail points.
package controls

import "shardsh/balancer/mock/router/call"

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return call.MergeMaps(mockHandlers(), failPointHandlers(), snapshotHandlers())
}
