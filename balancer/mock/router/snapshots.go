package router

import "shardsh/balancer/mock/router/call"

// SnapshotFile is what WithSnapshots takes.
type SnapshotFile = call.SnapshotFile

// WithSnapshots lets clients save the cluster to files and load it from them.
// Without it nobody can: a client must not choose among this machine's files.
func WithSnapshots(find SnapshotFile) Option {
	return func(r *Router) { r.Snapshots = find }
}
