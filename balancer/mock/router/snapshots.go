package router

import "shardsh/balancer/mock/router/call"

// SnapshotFile is what WithSnapshots takes.
type SnapshotFile = call.SnapshotFile

// WithSnapshots lets clients save the cluster to files and load it from them.
// By default that is refused: a client must not access this machine's files.
func WithSnapshots(find SnapshotFile) Option {
	return func(r *Router) { r.Snapshots = find }
}
