package snapfile

import (
	"io"

	"shardsh/balancer/catalog"
)

// Read reads a snapshot, which says that its source is the cluster from which it was read.
func Read(from io.Reader, limits Limits) (*catalog.Snapshot, error) {
	parts, err := read(from, limits.orDefault())
	if err != nil {
		return nil, err
	}
	return catalog.NewSnapshot(parts), nil
}
