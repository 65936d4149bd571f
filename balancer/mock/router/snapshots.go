package router

// SnapshotFile finds the file that a name stands for, or refuses it.
type SnapshotFile func(name string, write bool) (path string, err error)

// WithSnapshots lets clients save the cluster to files and load it from them.
// Without it nobody can: a client must not choose among this machine's files.
func WithSnapshots(find SnapshotFile) Option {
	return func(r *Router) { r.Snapshots = find }
}
