package policy

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// MergeLimits limit the reading of chunks to merge (rules/02-defragmentation-and-merging §3.5).
type MergeLimits struct {
	// Chunks is the maximum number of chunks that are read.
	Chunks int
	// Time is the time after which no more chunks are read, once a range can be merged.
	Time time.Duration
}

// MergeCutoff is the time before which a chunk must have come to its shard to be merged
// (rules/02-defragmentation-and-merging §3.3).
func MergeCutoff(now time.Time, historyWindow time.Duration) bson.Timestamp {
	return bson.Timestamp{T: uint32(now.Add(-historyWindow).Unix())}
}

// MergeSearch is where MergeableRuns looks.
type MergeSearch struct {
	Table *catalog.RoutingTable
	Zones *catalog.ZoneSet // nil = none
	Shard catalog.ShardID
	// From is the key at which the search begins; zero for all chunks.
	From catalog.Key
	// Cutoff is the MergeCutoff, which does not count if AnyAge is set.
	Cutoff bson.Timestamp
	AnyAge bool
	Limits MergeLimits
	// Elapsed is the part of Limits.Time that has passed when the search begins.
	Elapsed time.Duration
}

// AutoMergeMaxChunks is how many chunks the balancer has one action of the auto-merger merge at most
// (rules/02-defragmentation-and-merging §3.5).
const AutoMergeMaxChunks = 1000

// chunkReadTime is what the config server takes to read a chunk.
const chunkReadTime = 2 * time.Microsecond

// MergeableRuns returns the runs of adjacent chunks of a shard that the auto-merger merges into one
// chunk: old enough, not jumbo, and within one zone interval. Runs of one chunk are left out
// (rules/02-defragmentation-and-merging §3.3 and §3.5).
func MergeableRuns(s MergeSearch) [][]catalog.Chunk {
	var runs [][]catalog.Chunk
	var run []catalog.Chunk
	total := 0
	closeRun := func() {
		if len(run) < 2 {
			run = run[:0] // the usual case: the next run reuses its memory
			return
		}
		runs = append(runs, run)
		total += len(run)
		run = nil
	}
	border := newBorderPointer(s.Zones)
	spent := s.Elapsed
	mergeable := func(since bson.Timestamp, jumbo catalog.Jumbo) bool {
		// A chunk whose age is not known is not merged.
		old := !since.IsZero() && since.Before(s.Cutoff)
		return jumbo != catalog.JumboTrue && (s.AnyAge || old)
	}
	full := func() bool {
		return total+len(run) >= s.Limits.Chunks || len(runs) > 0 && spent > s.Limits.Time
	}
	if !s.Table.HasMergeCandidates(s.Shard, s.From, mergeable) {
		return nil // the usual case
	}
	for alone, chunk := range s.Table.MergeCandidates(s.Shard, s.From, mergeable) {
		if alone > 0 { // chunks that were read and are not part of a run
			spent += time.Duration(alone) * chunkReadTime
			closeRun()
			if total+1 >= s.Limits.Chunks || full() {
				break
			}
		}
		if !mergeable(chunk.OnCurrentShardSince, chunk.Jumbo) {
			continue
		}
		spent += chunkReadTime
		crossed := border.advance(chunk.Max)
		if len(run) > 0 && (crossed || !run[len(run)-1].Max.Equal(chunk.Min)) {
			closeRun()
		}
		run = append(run, chunk)
		if full() {
			break
		}
	}
	closeRun()
	return runs
}

// OwnsChunkOlderThan reports whether a shard has a chunk that came to the shard before a time. Such a
// chunk may be work for the auto-merger (rules/02-defragmentation-and-merging §3.3).
func OwnsChunkOlderThan(t *catalog.RoutingTable, id catalog.ShardID, cutoff bson.Timestamp) bool {
	for chunk := range t.OwnedChunks(id, catalog.Key{}, catalog.Key{}) {
		if since := chunk.OnCurrentShardSince; !since.IsZero() && since.Before(cutoff) {
			return true
		}
	}
	return false
}

// borderPointer iterates over the zone intervals in step with chunks.
type borderPointer struct {
	bounds []catalog.Key
	at     int
}

func newBorderPointer(zones *catalog.ZoneSet) *borderPointer {
	var b borderPointer
	for _, r := range zones.Ranges() {
		for _, k := range []catalog.Key{r.Min, r.Max} {
			if n := len(b.bounds); n == 0 || !b.bounds[n-1].Equal(k) {
				b.bounds = append(b.bounds, k)
			}
		}
	}
	return &b
}

// advance moves to the interval that ends at or after max and reports whether a
// border was crossed.
func (b *borderPointer) advance(max catalog.Key) bool {
	from := b.at
	for b.at < len(b.bounds) && max.Compare(b.bounds[b.at]) > 0 {
		b.at++
	}
	return b.at != from
}
