package mock

import (
	"iter"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// MergeRange merges the chunks that exactly tile [min, max) on the shard that owns min
// (rules/02-defragmentation-and-merging §3.6). For a single chunk it succeeds without a change.
func (c *Chunks) MergeRange(coll catalog.Collection, min, max catalog.Key) error {
	if min.Compare(max) >= 0 {
		// The shard's error has no code, and mongos returns it unchanged.
		return mongoerr.New(mongoerr.UnknownError, "bounds can't have max <= min")
	}
	table := c.config.tables[coll.Namespace]
	owner := table.Find(min).Shard
	if err := c.faults.checkReachable(configShard, owner); err != nil {
		return err
	}
	if err := c.checkChunkOperationsAllowed(coll); err != nil {
		return err
	}
	if !catalog.CoverExactly(ownedBy(owner, table.Overlapping(min, max)), min, max) {
		return c.config.staleConfigError(coll.Namespace, owner, "Range with bounds [%s, %s) is not owned by this shard.",
			coll.Pattern.Bound(min), coll.Pattern.Bound(max))
	}
	if err := checkChunkOperations(c.config); err != nil {
		return err
	}
	return c.commitMerge(coll, owner, min, max)
}

// ownedBy returns the chunks that a shard owns.
func ownedBy(shard catalog.ShardID, chunks iter.Seq[catalog.Chunk]) (own []catalog.Chunk) {
	for chunk := range chunks {
		if chunk.Shard == shard {
			own = append(own, chunk)
		}
	}
	return own
}

// commitMerge is the config server's part (_configsvrCommitChunksMerge). known is the collection
// according to the shard.
func (c *Chunks) commitMerge(known catalog.Collection, shard catalog.ShardID, min, max catalog.Key) error {
	ns := known.Namespace
	coll, ok, err := c.config.TrackedEntry(ns)
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
	table := c.config.tables[ns]
	chunks := ownedBy(shard, table.Overlapping(min, max))
	chunks = slices.DeleteFunc(chunks, func(chunk catalog.Chunk) bool { return chunk.Min.Less(min) })
	if !catalog.CoverExactly(chunks, min, max) {
		return mongoerr.New(mongoerr.IllegalOperation, "the range does not consist of whole chunks of shard %s", shard)
	}
	if len(chunks) == 1 {
		return nil
	}
	before, merged := table.Version(), c.newCommit().Merge(table, chunks)
	if err := c.config.putChunks(ns, merged); err != nil {
		return err
	}
	c.logMerge("merge", coll, before, merged, len(chunks))
	return nil
}

func errStaleEpoch(ns string) error {
	return mongoerr.New(mongoerr.StaleEpoch, "The epoch of collection %s has changed", ns)
}

func (c *Chunks) logMerge(what string, coll catalog.Collection, before catalog.Version, merged catalog.Chunk,
	count int) {
	after := before
	after.ChunkVersion = merged.Version
	c.log.writeChange(configShard, what, coll.Namespace, bson.D{
		{Key: "prevPlacementVersion", Value: before.Doc()},
		{Key: "mergedVersion", Value: after.Doc()},
		{Key: "owningShard", Value: string(merged.Shard)},
		{Key: "min", Value: coll.Pattern.Bound(merged.Min)},
		{Key: "max", Value: coll.Pattern.Bound(merged.Max)},
		{Key: "numChunks", Value: int32(count)},
	})
}

// mergeAllAttempts is how often the chunks are read if the collection changes before they are merged.
const mergeAllAttempts = 5

// MergeAll merges every run of mergeable chunks of a shard (rules/02-defragmentation-and-merging §3.5).
// It returns the number of chunks that were merged into others.
func (c *Chunks) MergeAll(coll catalog.Collection, id catalog.ShardID, limits policy.MergeLimits) (int, error) {
	if err := c.faults.checkReachable(configShard, id); err != nil {
		return 0, err
	}
	if err := checkChunkOperations(c.config); err != nil {
		return 0, err
	}
	if err := c.checkChunkOperationsAllowed(coll); err != nil {
		return 0, err
	}
	return c.mergeAll(coll, id, limits, func() *catalog.RoutingTable { return c.config.Table(coll.Namespace) })
}

// mergeAll reads the chunks without a lock, and merges them if the collection has not changed meanwhile.
// Otherwise it reads the changed part again.
func (c *Chunks) mergeAll(coll catalog.Collection, id catalog.ShardID, limits policy.MergeLimits,
	read func() *catalog.RoutingTable) (int, error) {
	var from catalog.Key
	for range mergeAllAttempts {
		table := read()
		if table == nil {
			break
		}
		zones, err := c.zones.ranges(coll)
		if err != nil {
			return 0, err
		}
		runs := policy.MergeableRuns(policy.MergeSearch{
			Table: table, Zones: zones, Shard: id, From: from, Cutoff: c.mergeCutoff(), Limits: limits,
			Elapsed: c.faults.extraLatency(configShard),
		})
		if len(runs) == 0 {
			return 0, nil
		}
		if now := c.config.Table(coll.Namespace); now != nil && now.Version() == table.Version() {
			return c.mergeRuns(coll, table, runs)
		}
		from = runs[0][0].Min
	}
	return 0, mongoerr.New(mongoerr.ConflictingOperationInProgress,
		"collection %s changes too often for its chunks to be merged", coll.Namespace)
}

// mergeRuns writes one new chunk for each run.
func (c *Chunks) mergeRuns(
	coll catalog.Collection, table *catalog.RoutingTable, runs [][]catalog.Chunk,
) (int, error) {
	merged := c.newCommit().MergeRuns(table, runs)
	if err := c.config.putChunks(coll.Namespace, merged...); err != nil {
		return 0, err
	}
	count := 0
	before := table.Version() // the table before the merge
	for i, chunk := range merged {
		c.logMerge("autoMerge", coll, before, chunk, len(runs[i]))
		before.ChunkVersion = chunk.Version
		count += len(runs[i])
	}
	return count, nil
}

func (c *Chunks) mergeCutoff() bson.Timestamp {
	return policy.MergeCutoff(c.clock.Now(), c.historyWindow())
}

func (c *Chunks) historyWindow() time.Duration {
	return max(c.parameters.Seconds("minSnapshotHistoryWindowInSeconds"),
		c.parameters.Seconds("transactionLifetimeLimitSeconds"))
}
