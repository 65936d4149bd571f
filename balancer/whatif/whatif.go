// Package whatif changes a Snapshot the way an operator would change the cluster,
// and says what would come of it. Nothing is written anywhere.
package whatif

import "shardsh/balancer/catalog"

// Change is one thing that an operator would do to a cluster.
type Change interface {
	// Apply returns the cluster with the change, or why it can't be made.
	Apply(s *catalog.Snapshot) (*catalog.Snapshot, error)
	// String is the change as it is written on a command line.
	String() string
}
