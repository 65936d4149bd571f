package catalog

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ChunkTable is a RoutingTable or a Draft that CommitRules change.
type ChunkTable interface {
	// Version returns the version of the newest chunk.
	Version() Version
	// FirstOnShardExcept returns the first chunk in key order that a shard owns, other than the chunk that begins
	// at lowerBound; false if there is none.
	FirstOnShardExcept(s ShardID, lowerBound Key) (Chunk, bool)
}

// CommitRules computes the chunks that the config server writes for a migration, a split or a merge: bounds,
// versions, history and flags (rules/02-migration-and-metadata §6.3 to §6.6). The caller has to check
// that the change is permitted.
type CommitRules struct {
	Release Release
	// NewID returns the _id for a new chunk.
	NewID func() bson.ObjectID
	// HistoryWindow is the time for which a chunk's former shards are kept in its history.
	HistoryWindow time.Duration
}

// Move returns the chunks that change when the range [lower, upper) of a chunk moves to another shard
// at a time: the moved range, the rest of the chunk on the donor, and the control chunk, which is
// another chunk of the donor that gets a new version. The version of the control chunk is 0|0 if there
// is none.
func (c CommitRules) Move(t ChunkTable, chunk Chunk, lower, upper Key, to ShardID,
	at bson.Timestamp) (changed []Chunk, control ChunkVersion) {
	version := ChunkVersion{Major: t.Version().Major + 1}
	next := func() ChunkVersion {
		version.Minor++
		return version
	}
	moved := chunk
	moved.Min, moved.Max, moved.Shard, moved.Version = lower, upper, to, version
	moved.OnCurrentShardSince = at
	if !c.Release.FCVAtLeast(Release50) {
		moved.Jumbo = JumboUnset // a forced migration clears it (rules/01-selection §10.2)
	}
	kept := c.trimHistory(chunk.History, at)
	moved.History = append(make([]ChunkHistory, 0, 1+len(kept)), ChunkHistory{ValidAfter: at, Shard: to})
	moved.History = append(moved.History, kept...)
	changed = append(make([]Chunk, 0, 2), moved) // usually the moved chunk and the control chunk

	remainder := func(lower, upper Key) {
		if lower.Compare(upper) >= 0 {
			return
		}
		rest := chunk
		rest.ID, rest.Min, rest.Max, rest.Version = c.NewID(), lower, upper, next()
		changed = append(changed, rest)
	}
	remainder(chunk.Min, lower)
	remainder(upper, chunk.Max)
	if other, ok := t.FirstOnShardExcept(chunk.Shard, chunk.Min); ok {
		other.Version = next()
		control = other.Version
		changed = append(changed, other)
	}
	return changed, control
}

// trimHistory removes entries older than the history window, except for the newest of them.
func (c CommitRules) trimHistory(history []ChunkHistory, at bson.Timestamp) []ChunkHistory {
	oldest := int64(at.T) - int64(c.HistoryWindow.Seconds())
	for len(history) > 1 && int64(history[len(history)-1].ValidAfter.T) < oldest {
		history = history[:len(history)-1]
	}
	return history
}

// Split returns the chunks into which points divide a chunk. Points are in ascending order and inside
// the chunk. The first chunk keeps the id. Each chunk gets the next minor version of the collection and
// an explicit jumbo: false; 5.0 keeps the flag (rules/01-selection §10.2,
// rules/02-migration-and-metadata §6.3 and §6.4).
func (c CommitRules) Split(t ChunkTable, chunk Chunk, points []Key) []Chunk {
	version := t.Version().ChunkVersion
	bounds := append(slices.Clone(points), chunk.Max)
	pieces := make([]Chunk, 0, len(bounds))
	lower := chunk.Min
	for i, upper := range bounds {
		piece := chunk
		piece.Min, piece.Max = lower, upper
		version.Minor++
		piece.Version = version
		if c.Release.orDefault() != Release50 {
			piece.Jumbo = JumboFalse
		}
		piece.Estimate = 0
		if i > 0 {
			piece.ID = c.NewID()
		}
		pieces = append(pieces, piece)
		lower = upper
	}
	return pieces
}

// Merge returns the chunk into which mergeChunks merges adjacent chunks of one shard. The chunk keeps
// the id and the flag of the first chunk (rules/02-defragmentation-and-merging §3.6).
func (c CommitRules) Merge(t ChunkTable, chunks []Chunk) Chunk {
	merged := chunks[0]
	merged.Max = chunks[len(chunks)-1].Max
	before := t.Version()
	merged.Version = ChunkVersion{Major: before.Major, Minor: before.Minor + 1}
	merged.Estimate = 0
	merged.OnCurrentShardSince = bson.Timestamp{}
	for _, chunk := range chunks {
		if len(chunk.History) > 0 && chunk.History[0].ValidAfter.After(merged.OnCurrentShardSince) {
			merged.OnCurrentShardSince = chunk.History[0].ValidAfter
		}
	}
	merged.History = []ChunkHistory{{ValidAfter: merged.OnCurrentShardSince, Shard: merged.Shard}}
	return merged
}

// MergeRuns returns the chunks into which the auto-merger merges runs of adjacent chunks, one for each
// run, with new ids and without flags (rules/02-defragmentation-and-merging §3.5).
func (c CommitRules) MergeRuns(t ChunkTable, runs [][]Chunk) []Chunk {
	version := t.Version().ChunkVersion
	merged := make([]Chunk, len(runs))
	for i, run := range runs {
		version.Minor++
		chunk := run[0]
		chunk.ID = c.NewID()
		chunk.Max = run[len(run)-1].Max
		chunk.Version = version
		chunk.Jumbo = JumboUnset
		chunk.Estimate = 0
		chunk.OnCurrentShardSince = newestSince(run)
		chunk.History = []ChunkHistory{{ValidAfter: chunk.OnCurrentShardSince, Shard: chunk.Shard}}
		merged[i] = chunk
	}
	return merged
}

// newestSince returns the latest time at which one of some chunks came to its shard.
func newestSince(chunks []Chunk) bson.Timestamp {
	since := bson.Timestamp{I: 1}
	for _, chunk := range chunks {
		if chunk.OnCurrentShardSince.After(since) {
			since = chunk.OnCurrentShardSince
		}
	}
	return since
}
