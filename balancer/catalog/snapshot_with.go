package catalog

import (
	"slices"
	"strings"
	"time"
)

// The With methods leave the documents of config alone: SnapshotParts.Config is
// what a reader found, whatever has been changed since.

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

// WithShard returns a copy in which the shard takes the place of the one with
// its id, or is added.
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

// WithDatabase returns a copy in which the database takes the place of the one
// with its name, or is added.
func (s *Snapshot) WithDatabase(d Database) *Snapshot {
	next := *s
	i, found := slices.BinarySearchFunc(s.parts.Databases, d.Name, func(have Database, name string) int {
		return strings.Compare(have.Name, name)
	})
	next.parts.Databases = withElement(s.parts.Databases, i, found, d)
	return &next
}

// withElement returns a copy of a list in which an element takes the place of that at i,
// or is inserted there when none was found.
func withElement[T any](list []T, i int, found bool, element T) []T {
	list = slices.Clone(list)
	if !found {
		return slices.Insert(list, i, element)
	}
	list[i] = element
	return list
}
