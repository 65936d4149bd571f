package mock

import (
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
	chunks := make([]catalog.Chunk, 0, 16)
	for chunk := range table.Overlapping(min, max) {
		chunks = append(chunks, chunk)
	}
	owner := chunks[0].Shard
	if err := c.reach(configShard, owner); err != nil {
		return err
	}
	last := chunks[len(chunks)-1]
	tiled := chunks[0].Min.Equal(min) && last.Max.Equal(max)
	for _, chunk := range chunks {
		tiled = tiled && chunk.Shard == owner
	}
	if !tiled {
		return c.staleConfig(coll.Namespace, owner, "the range is not made of whole chunks of shard %s", owner)
	}
	if len(chunks) == 1 {
		return nil
	}
	before := table.Version().ChunkVersion
	merged := chunks[0]
	merged.Max = last.Max
	merged.Version = catalog.ChunkVersion{Major: before.Major, Minor: before.Minor + 1}
	merged.Estimate = 0
	since := newestSince(chunks)
	merged.OnCurrentShardSince = since
	merged.History = []catalog.ChunkHistory{{ValidAfter: since, Shard: owner}}
	if err := c.putChunks(coll.Namespace, merged); err != nil {
		return err
	}
	c.logMerge("merge", coll.Namespace, table, merged, before, len(chunks))
	return nil
}

func newestSince(chunks []catalog.Chunk) bson.Timestamp {
	var since bson.Timestamp
	for _, chunk := range chunks {
		if chunk.OnCurrentShardSince.After(since) {
			since = chunk.OnCurrentShardSince
		}
	}
	return since
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

// MergeAll merges every run of mergeable chunks of a shard (spec 02 §3.5) and
// gives the number of chunks that went into merged ones.
func (c *Cluster) MergeAll(coll catalog.Collection, id catalog.ShardID, most int) (int, error) {
	if err := c.reach(configShard, id); err != nil {
		return 0, err
	}
	table := c.tables[coll.Namespace]
	zones, err := c.zonesOf(coll)
	if err != nil {
		return 0, err
	}
	runs := mergeableRuns(table, zones, id, c.historyCutoff(), most)
	version := table.Version().ChunkVersion
	count := 0
	var merged []catalog.Chunk
	for _, run := range runs {
		version.Minor++
		chunk := run[0]
		chunk.ID = c.NewObjectID()
		chunk.Max = run[len(run)-1].Max
		chunk.Version = version
		chunk.Jumbo = catalog.JumboUnset
		chunk.Estimate = 0
		chunk.OnCurrentShardSince = newestSince(run)
		chunk.History = []catalog.ChunkHistory{{ValidAfter: chunk.OnCurrentShardSince, Shard: id}}
		merged = append(merged, chunk)
		count += len(run)
	}
	if len(merged) == 0 {
		return 0, nil
	}
	if err := c.putChunks(coll.Namespace, merged...); err != nil {
		return 0, err
	}
	before := table.Version().ChunkVersion // table is as it was before the merge
	for i, chunk := range merged {
		c.logMerge("autoMerge", coll.Namespace, table, chunk, before, len(runs[i]))
		before = chunk.Version
	}
	return count, nil
}

// mergeableRuns groups a shard's contiguous chunks that are old enough, not
// jumbo, and within one zone interval; runs of one are left out.
func mergeableRuns(table *catalog.RoutingTable, zones *catalog.ZoneSet, id catalog.ShardID, cutoff bson.Timestamp, most int) [][]catalog.Chunk {
	var runs [][]catalog.Chunk
	var run []catalog.Chunk
	total := 0
	closeRun := func() {
		if len(run) >= 2 {
			runs = append(runs, run)
			total += len(run)
		}
		run = nil
	}
	border := newBorderPointer(zones)
	for chunk := range table.Owned(id, catalog.Key{}, catalog.Key{}) {
		if chunk.Jumbo == catalog.JumboTrue || chunk.OnCurrentShardSince.IsZero() || !chunk.OnCurrentShardSince.Before(cutoff) {
			continue // a chunk of which nobody knows since when it is there stays
		}
		crossed := border.advance(chunk.Max)
		if len(run) > 0 && (crossed || !run[len(run)-1].Max.Equal(chunk.Min)) {
			closeRun()
		}
		run = append(run, chunk)
		if total+len(run) >= most {
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
