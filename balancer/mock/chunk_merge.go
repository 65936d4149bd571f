package mock

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// MergeRange merges the chunks that exactly tile [min, max) on the shard that
// owns min (spec 02 §3.6). One chunk is a success without change.
func (c *Cluster) MergeRange(coll catalog.Collection, min, max catalog.Key) error {
	if min.Compare(max) >= 0 {
		// The shard finds this without a code, and mongos raises it again.
		return mongoerr.New(mongoerr.UnknownError, "bounds can't have max <= min")
	}
	table := c.tables[coll.Namespace]
	owner := table.ShardOf(min)
	if err := c.reach(configShard, owner); err != nil {
		return err
	}
	if !tiles(slices.Collect(table.Owned(owner, min, max)), min, max) {
		return c.staleConfig(coll.Namespace, owner, "the range is not made of whole chunks of shard %s", owner)
	}
	return c.commitMerge(coll, owner, min, max)
}

// tiles tells whether chunks in key order make up [min, max) exactly.
func tiles(chunks []catalog.Chunk, min, max catalog.Key) bool {
	at := min
	for _, chunk := range chunks {
		if !chunk.Min.Equal(at) {
			return false
		}
		at = chunk.Max
	}
	return len(chunks) > 0 && at.Equal(max)
}

// commitMerge is the config server's part (_configsvrCommitChunksMerge): coll
// is the collection as the shard knows it.
func (c *Cluster) commitMerge(known catalog.Collection, shard catalog.ShardID, min, max catalog.Key) error {
	ns := known.Namespace
	coll, ok, err := c.Tracked(ns)
	switch {
	case err != nil:
		return err
	case !ok:
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", ns)
	case coll.Epoch != known.Epoch || coll.Timestamp != known.Timestamp:
		return errStaleEpoch(ns)
	case !coll.UUID.Equal(known.UUID):
		return mongoerr.New(mongoerr.InvalidUUID, "the UUID of collection %s is another one", ns)
	}
	table := c.tables[ns]
	var chunks []catalog.Chunk
	for chunk := range table.Owned(shard, min, max) {
		if chunk.Min.Compare(min) >= 0 {
			chunks = append(chunks, chunk)
		}
	}
	if !tiles(chunks, min, max) {
		return mongoerr.New(mongoerr.IllegalOperation, "the range is not made of whole chunks of shard %s", shard)
	}
	if len(chunks) == 1 {
		return nil
	}
	before := table.Version().ChunkVersion
	merged := chunks[0]
	merged.Max = max
	merged.Version = catalog.ChunkVersion{Major: before.Major, Minor: before.Minor + 1}
	merged.Estimate = 0
	merged.OnCurrentShardSince = bson.Timestamp{}
	for _, chunk := range chunks {
		if len(chunk.History) > 0 && chunk.History[0].ValidAfter.After(merged.OnCurrentShardSince) {
			merged.OnCurrentShardSince = chunk.History[0].ValidAfter
		}
	}
	merged.History = []catalog.ChunkHistory{{ValidAfter: merged.OnCurrentShardSince, Shard: shard}}
	if err := c.putChunks(ns, merged); err != nil {
		return err
	}
	c.logMerge("merge", ns, table, merged, before, len(chunks))
	return nil
}

func errStaleEpoch(ns string) error {
	return mongoerr.New(mongoerr.StaleEpoch, "The epoch of collection %s has changed", ns)
}

func (c *Cluster) logMerge(what, ns string, table *catalog.RoutingTable, merged catalog.Chunk, before catalog.ChunkVersion, count int) {
	c.logChange(configShard, what, ns, bson.D{
		{Key: "prevPlacementVersion", Value: versionDoc(table, before)},
		{Key: "mergedVersion", Value: versionDoc(table, merged.Version)},
		{Key: "owningShard", Value: string(merged.Shard)},
		{Key: "min", Value: table.Pattern().Bound(merged.Min)},
		{Key: "max", Value: table.Pattern().Bound(merged.Max)},
		{Key: "numChunks", Value: int32(count)},
	})
}

// MergeLimits end the reading of chunks to merge early (spec 02 §3.5).
type MergeLimits struct {
	// Chunks that are read into ranges at most.
	Chunks int
	// Time after which nothing more is read once a range can be merged.
	Time time.Duration
}

// mergeAllAttempts is how often chunks are read anew when the collection has
// changed before they could be merged.
const mergeAllAttempts = 5

// chunkReadTime is what the config server takes to read a chunk.
const chunkReadTime = 2 * time.Microsecond

// MergeAll merges every run of mergeable chunks of a shard (spec 02 §3.5) and
// gives the number of chunks that went into merged ones.
func (c *Cluster) MergeAll(coll catalog.Collection, id catalog.ShardID, limits MergeLimits) (int, error) {
	if err := c.reach(configShard, id); err != nil {
		return 0, err
	}
	return c.mergeAll(coll, id, limits, func() *catalog.RoutingTable { return c.tables[coll.Namespace] })
}

// mergeAll reads chunks without a lock and merges them if the collection has
// not changed meanwhile; else it reads once more what may have changed.
func (c *Cluster) mergeAll(coll catalog.Collection, id catalog.ShardID, limits MergeLimits, read func() *catalog.RoutingTable) (int, error) {
	var from catalog.Key
	for range mergeAllAttempts {
		table := read()
		if table == nil {
			break
		}
		zones, err := c.zonesOf(coll)
		if err != nil {
			return 0, err
		}
		runs := c.mergeableRuns(table, zones, id, from, limits)
		if len(runs) == 0 {
			return 0, nil
		}
		if now := c.tables[coll.Namespace]; now != nil && now.Version() == table.Version() {
			return c.mergeRuns(coll.Namespace, table, runs)
		}
		from = runs[0][0].Min
	}
	return 0, mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s changes too often for its chunks to be merged", coll.Namespace)
}

// mergeRuns writes one new chunk for each run.
func (c *Cluster) mergeRuns(ns string, table *catalog.RoutingTable, runs [][]catalog.Chunk) (int, error) {
	version := table.Version().ChunkVersion
	count := 0
	merged := make([]catalog.Chunk, len(runs))
	for i, run := range runs {
		version.Minor++
		chunk := run[0]
		chunk.ID = c.NewObjectID()
		chunk.Max = run[len(run)-1].Max
		chunk.Version = version
		chunk.Jumbo = catalog.JumboUnset
		chunk.Estimate = 0
		chunk.OnCurrentShardSince = newestSince(run)
		chunk.History = []catalog.ChunkHistory{{ValidAfter: chunk.OnCurrentShardSince, Shard: chunk.Shard}}
		merged[i] = chunk
		count += len(run)
	}
	if err := c.putChunks(ns, merged...); err != nil {
		return 0, err
	}
	before := table.Version().ChunkVersion // table is as it was before the merge
	for i, chunk := range merged {
		c.logMerge("autoMerge", ns, table, chunk, before, len(runs[i]))
		before = chunk.Version
	}
	return count, nil
}

// newestSince is when the last of some chunks came to its shard.
func newestSince(chunks []catalog.Chunk) bson.Timestamp {
	since := bson.Timestamp{I: 1}
	for _, chunk := range chunks {
		if chunk.OnCurrentShardSince.After(since) {
			since = chunk.OnCurrentShardSince
		}
	}
	return since
}

// mergeableRuns groups a shard's contiguous chunks from a key on that are old
// enough, not jumbo, and within one zone interval; runs of one are left out.
func (c *Cluster) mergeableRuns(table *catalog.RoutingTable, zones *catalog.ZoneSet, id catalog.ShardID, from catalog.Key, limits MergeLimits) [][]catalog.Chunk {
	var runs [][]catalog.Chunk
	var run []catalog.Chunk
	total := 0
	closeRun := func() {
		if len(run) < 2 {
			run = run[:0] // nearly always: its room serves the next one
			return
		}
		runs = append(runs, run)
		total += len(run)
		run = nil
	}
	border := newBorderPointer(zones)
	cutoff := c.historyCutoff()
	took := c.lag(configShard)
	mergeable := func(since bson.Timestamp, jumbo catalog.Jumbo) bool {
		// A chunk of which nobody knows since when it is there stays.
		return jumbo != catalog.JumboTrue && !since.IsZero() && since.Before(cutoff)
	}
	full := func() bool { return total+len(run) >= limits.Chunks || len(runs) > 0 && took > limits.Time }
	for alone, chunk := range table.Adjoining(id, from, mergeable) {
		if alone > 0 { // chunks that were read and lead to no run
			took += time.Duration(alone) * chunkReadTime
			closeRun()
			if total+1 >= limits.Chunks || full() {
				break
			}
		}
		if !mergeable(chunk.OnCurrentShardSince, chunk.Jumbo) {
			continue
		}
		took += chunkReadTime
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

// borderPointer walks the zone intervals in step with chunks.
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

// advance moves to the interval that ends at or after max and tells whether a
// border was crossed.
func (b *borderPointer) advance(max catalog.Key) bool {
	from := b.at
	for b.at < len(b.bounds) && max.Compare(b.bounds[b.at]) > 0 {
		b.at++
	}
	return b.at != from
}

// historyCutoff is the time before which a chunk must have come to its shard
// to be merged (spec 02 §3.3).
func (c *Cluster) historyCutoff() bson.Timestamp {
	return bson.Timestamp{T: uint32(c.now().Add(-c.historyWindow()).Unix())}
}

func (c *Cluster) historyWindow() time.Duration {
	return max(c.parameters.Seconds("minSnapshotHistoryWindowInSeconds"), c.parameters.Seconds("transactionLifetimeLimitSeconds"))
}
