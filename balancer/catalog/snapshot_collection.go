package catalog

import (
	"maps"
	"slices"
)

// CollectionState is a collection of a Snapshot: its entry, its chunks and zones, and its data on the
// shards.
//
// A reader for an overview leaves Table nil and counts chunks instead. It also leaves Zones nil; the
// zones are then in the documents of config.tags.
type CollectionState struct {
	Collection
	Table *RoutingTable
	Zones *ZoneSet // nil = none
	// Counts contains the number of chunks by shard if Table is nil.
	Counts map[ShardID]ChunkCount
	// Outline is the part of a routing table that was kept after it was read; nil if Table is set, or
	// if no table was read.
	Outline *Outline

	// Sizes contains the amount of the collection on each shard. A shard without an entry did not
	// report it; a shard without chunks has an entry of zero.
	Sizes map[ShardID]ShardData
	// ChunkSizes are the measured sizes of chunks. The sizes of other chunks are not known.
	ChunkSizes []ChunkSize
	// Sampled contains shard keys at equal distances in the data, in key order: those of a sample, or
	// the points at which servers would split. The amount of data between two adjacent keys is always
	// the same, so the keys inside a chunk are quantiles of its content. Nil = not read.
	Sampled []Key

	// Unindexed are the shards that have chunks of the collection and no index on its shard key; empty
	// if IndexesKnown is false.
	Unindexed    []ShardID
	IndexesKnown bool
	// EmptyZones are the lower bounds of zone ranges that were read and contained no document.
	EmptyZones []Key

	// ReportedStatus is the result of balancerCollectionStatus; nil if it was not read.
	ReportedStatus *ReportedStatus
}

// ChunkCount is the number of chunks of a collection on a shard.
type ChunkCount struct{ Chunks, Jumbo int64 }

// CountOn returns the number of chunks of the collection on a shard.
func (c *CollectionState) CountOn(id ShardID) ChunkCount {
	if c.Table == nil {
		return c.Counts[id]
	}
	return ChunkCount{Chunks: int64(c.Table.CountOn(id)), Jumbo: int64(c.Table.JumboCount(id))}
}

// Bytes returns the amount of data of the collection on all shards, as far as known.
func (c *CollectionState) Bytes() (sum int64) {
	for _, data := range c.Sizes {
		sum += data.Bytes
	}
	return sum
}

// Owners returns the shards that have chunks of the collection, by id.
func (c *CollectionState) Owners() []ShardID {
	if c.Table != nil {
		return c.Table.Owners()
	}
	return slices.Sorted(maps.Keys(c.Counts))
}

// Count returns the number of chunks of the collection.
func (c *CollectionState) Count() ChunkCount {
	var sum ChunkCount
	for _, id := range c.Owners() {
		n := c.CountOn(id)
		sum.Chunks, sum.Jumbo = sum.Chunks+n.Chunks, sum.Jumbo+n.Jumbo
	}
	return sum
}

// ShardData is the amount of a collection on a shard. Owned data are in the shard's chunks; orphans are
// left over from migrations.
type ShardData struct {
	Bytes     int64 // owned, before compression
	Documents int64 // owned
	// Orphans is the number of orphaned documents, and OrphanBytes is their size.
	Orphans, OrphanBytes int64
	// ReusableBytes is the free space inside the collection's file, which only the collection's own data can
	// use; 0 if it was not read.
	ReusableBytes int64 `bson:"reusable"`
	// StoredBytes is the size of the file on disk, including reusable space. IndexBytes is the size of the
	// indexes. Both are 0 if they were not read.
	StoredBytes int64 `bson:"stored"`
	IndexBytes  int64
}

// ChunkSize is the measured size of the chunk that begins at Min.
type ChunkSize struct {
	Min       Key
	Bytes     int64
	Documents int64
	// First and Last are the smallest and the largest key of a document in the chunk; zero if they were
	// not read.
	First, Last Key
}

// ReportedStatus is the server's own status of a collection (rules/01-selection §7).
type ReportedStatus struct {
	Compliant bool
	// Violation is the first violation that the balancer would resolve; empty if Compliant.
	Violation string
	// ChunkSizeMB is the chunk size in force in MiB; 0 before 6.0.
	ChunkSizeMB float64
	// Phase is the phase of a defragmentation, "none" while it waits, and empty if there is none.
	// RemainingChunks is the number of chunks that the phase has left; -1 if the server does not report
	// it.
	Phase           string
	RemainingChunks int64
}

// DataSizes returns the owned bytes by shard as a round reads them, with the collection's chunk size.
func (c *CollectionState) DataSizes(settings Settings) DataSizes {
	sizes := DataSizes{ByShard: make(map[ShardID]int64, len(c.Sizes)), MaxChunkSizeBytes: c.ChunkSize(settings)}
	for id, data := range c.Sizes {
		sizes.ByShard[id] = data.Bytes
	}
	return sizes
}

// OwnedData returns the amount of a collection on a shard, and whether it is known. The aggregation
// stage that reports sizes leaves out shards without data of the collection.
func (s *Snapshot) OwnedData(c *CollectionState, shard ShardState) (ShardData, bool) {
	data, told := c.Sizes[shard.ID]
	silent := shard.Unreachable != "" || slices.ContainsFunc(s.parts.Source.Gaps, func(g Gap) bool {
		return g.What == "sizes" && g.Shard == shard.ID
	})
	return data, told || len(c.Sizes) > 0 && !silent
}

// WithCollection returns a copy in which the collection replaces the one with its namespace, or is
// added.
func (s *Snapshot) WithCollection(c *CollectionState) *Snapshot {
	next := *s
	i, found := s.collectionAt(c.Namespace)
	next.parts.Collections = withElement(s.parts.Collections, i, found, c)
	return &next
}

// WithoutCollection returns a copy without the collection.
func (s *Snapshot) WithoutCollection(ns string) *Snapshot {
	next := *s
	if i, found := s.collectionAt(ns); found {
		next.parts.Collections = slices.Delete(slices.Clone(s.parts.Collections), i, i+1)
	}
	return &next
}

// WithTable returns a copy of the collection with other chunks, such as the result of
// RoutingTable.Apply. The measured sizes of chunks are kept.
func (c *CollectionState) WithTable(t *RoutingTable) *CollectionState {
	next := *c
	next.Table = t
	return &next
}

// WithZones returns a copy of the collection with other zones; nil = none.
func (c *CollectionState) WithZones(z *ZoneSet) *CollectionState {
	next := *c
	next.Zones = z
	return &next
}

// WithSize returns a copy of the collection with other data on a shard.
func (c *CollectionState) WithSize(id ShardID, data ShardData) *CollectionState {
	next := *c
	next.Sizes = maps.Clone(c.Sizes)
	if next.Sizes == nil {
		next.Sizes = map[ShardID]ShardData{}
	}
	next.Sizes[id] = data
	return &next
}
