package router

import "shardsh/balancer/mock/router/call"

// SnapshotPathFunc is the type of WithSnapshots' parameter.
type SnapshotPathFunc = call.SnapshotPathFunc

// WithSnapshots lets clients save the cluster to files and load it from files. find returns the path for
// a name. By default both are rejected, because a client must not access the files of this machine.
func WithSnapshots(find SnapshotPathFunc) Option {
	return func(r *Router) { r.SnapshotPath = find }
}
