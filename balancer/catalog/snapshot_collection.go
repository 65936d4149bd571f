package catalog

import (
	"maps"
	"slices"
)

// CollectionState is a collection of a Snapshot: its entry, its chunks and
// zones, and what lies where.
//
// A reader that is only asked for an overview leaves Table nil and counts
// chunks instead; it leaves Zones nil as well, and what zones there are is in
// the documents of config.tags.
type CollectionState struct {
	Collection
	Table *RoutingTable
	Zones *ZoneSet // nil = none
	// Counts are the chunks by shard, for when there is no Table.
	Counts map[ShardID]ChunkCount
	// Outline is what was kept of a Table that was read; nil where there is one, or none was.
	Outline *Outline

	// Sizes is what each shard has of the collection. A shard without an entry
	// did not tell; one without a chunk has one of nothing.
	Sizes map[ShardID]ShardData
	// ChunkSizes are the measured sizes of chunks; others are unknown.
	ChunkSizes []ChunkSize
	// Sampled are shard keys that lie evenly among the documents, in key order: those of a
	// sample, or where servers would cut. Between two of them lies as much as between any
	// others, so those inside a chunk are quantiles of what it holds. Nil = not read.
	Sampled []Key

	// Unindexed are the shards that have chunks of the collection and no index for
	// its shard key; nothing where IndexesKnown is false.
	Unindexed    []ShardID
	IndexesKnown bool
	// EmptyZones are the lower bounds of the ranges of zones in which somebody
	// looked for a document and found none.
	EmptyZones []Key

	// Reported is what balancerCollectionStatus says; nil when it was not read.
	Reported *ReportedStatus
}

// ChunkCount is how many chunks a shard has of a collection.
type ChunkCount struct{ Chunks, Jumbo int64 }

// CountOn returns how many chunks of the collection a shard has.
func (c *CollectionState) CountOn(id ShardID) ChunkCount {
	if c.Table == nil {
		return c.Counts[id]
	}
	return ChunkCount{Chunks: int64(c.Table.Count(id)), Jumbo: int64(c.Table.JumboCount(id))}
}

// Bytes returns how much data all shards have of the collection, as far as that is known.
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

// Count returns how many chunks the collection has.
func (c *CollectionState) Count() ChunkCount {
	var sum ChunkCount
	for _, id := range c.Owners() {
		n := c.CountOn(id)
		sum.Chunks, sum.Jumbo = sum.Chunks+n.Chunks, sum.Jumbo+n.Jumbo
	}
	return sum
}

// ShardData is what a shard has of a collection. Owned data belong to the
// shard's chunks, orphans are left behind by migrations.
type ShardData struct {
	Bytes     int64 // owned, before compression
	Documents int64 // owned
	// Orphans counts documents, OrphanBytes their size.
	Orphans, OrphanBytes int64
	// Reusable is free inside of the collection's file, where only its own data may come;
	// 0 where it was not read.
	Reusable int64
	// Stored is the file on disk, with what is reusable in it, IndexBytes are those of the
	// indexes; 0 where they were not read.
	Stored, IndexBytes int64
}

// ChunkSize is the measured size of the chunk that begins at Min.
type ChunkSize struct {
	Min       Key
	Bytes     int64
	Documents int64
	// First and Last are the smallest and the largest key that a document of the
	// chunk has; zero when it was not read.
	First, Last Key
}

// ReportedStatus is the server's own verdict on a collection (rules/01-selection §7).
type ReportedStatus struct {
	Compliant bool
	// Violation is the first thing that the balancer would fix; empty when
	// Compliant.
	Violation string
	// ChunkSizeMB is the chunk size in force in MiB; 0 before 6.0.
	ChunkSizeMB float64
	// Phase is that of a defragmentation, "none" while it waits, empty when there
	// is none. RemainingChunks is how many chunks the phase has left; -1 when the
	// server does not tell.
	Phase           string
	RemainingChunks int64
}

// DataSizes returns the owned bytes by shard as a round reads them, with the
// collection's chunk size or the given one where it has none.
func (c *CollectionState) DataSizes(chunkSize int64) DataSizes {
	sizes := DataSizes{ByShard: make(map[ShardID]int64, len(c.Sizes)), MaxChunkSizeBytes: chunkSize}
	for id, data := range c.Sizes {
		sizes.ByShard[id] = data.Bytes
	}
	if c.MaxChunkSizeBytes != 0 {
		sizes.MaxChunkSizeBytes = c.MaxChunkSizeBytes
	}
	return sizes
}

// OwnedData returns what a shard has of a collection, and whether that is known. The
// stage that reports the sizes leaves out shards that have nothing of it.
func (s *Snapshot) OwnedData(c *CollectionState, shard ShardState) (ShardData, bool) {
	data, told := c.Sizes[shard.ID]
	silent := shard.Unreachable != "" || slices.ContainsFunc(s.parts.Source.Gaps, func(g Gap) bool {
		return g.What == "sizes" && g.Shard == shard.ID
	})
	return data, told || len(c.Sizes) > 0 && !silent
}

// WithCollection returns a copy in which the collection takes the place of the
// one with its namespace, or is added.
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

// WithTable returns a copy of the collection with other chunks, such as those
// that RoutingTable.Apply leads to. What was measured of the chunks stays.
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
