package catalog

import (
	"slices"
	"time"
)

// The With methods do not change the documents of config: SnapshotParts.Config contains the documents
// that a reader has read.

// WithTime returns a copy at another time.
func (s *Snapshot) WithTime(t time.Time) *Snapshot {
	next := *s
	next.parts.Time = t
	return &next
}

// WithSettings returns a copy with other settings.
func (s *Snapshot) WithSettings(settings Settings) *Snapshot {
	next := *s
	next.parts.Settings = settings
	return &next
}

// WithShard returns a copy in which the shard replaces the one with its id, or is added.
func (s *Snapshot) WithShard(shard ShardState) *Snapshot {
	next := *s
	i, found := s.shardAt(shard.ID)
	next.parts.Shards = withElement(s.parts.Shards, i, found, shard)
	return &next
}

// WithoutShard returns a copy without the shard.
func (s *Snapshot) WithoutShard(id ShardID) *Snapshot {
	next := *s
	if i, found := s.shardAt(id); found {
		next.parts.Shards = slices.Delete(slices.Clone(s.parts.Shards), i, i+1)
	}
	return &next
}

// withElement returns a copy of a slice in which the element replaces element i if found is true, and
// is inserted at i otherwise.
func withElement[T any](list []T, i int, found bool, element T) []T {
	list = slices.Clone(list)
	if !found {
		return slices.Insert(list, i, element)
	}
	list[i] = element
	return list
}
