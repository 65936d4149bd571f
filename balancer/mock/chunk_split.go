package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Chunks splits and merges chunks and writes their flags.
type Chunks struct{ c *Cluster }

// Chunks are those of the cluster.
func (c *Cluster) Chunks() Chunks { return Chunks{c} }

// maxSplitPoints is how many points a shard splits a chunk at.
const maxSplitPoints = 8192

// SplitOnShard is a split as the balancer asks the owner for it: the shard looks
// at the points itself before it asks the config server (spec 01 §5.3).
func (cks Chunks) SplitOnShard(coll catalog.Collection, chunk catalog.Chunk, points []catalog.Key) error {
	if len(points) > maxSplitPoints {
		cks.c.logger.Warn("too many split points, the first ones are used", "ns", coll.Namespace, "points", len(points), "used", maxSplitPoints)
		points = points[:maxSplitPoints]
	}
	if n := len(points); n > 0 && (points[0].Equal(chunk.Min) || points[n-1].Equal(chunk.Max)) {
		p := coll.Pattern
		return mongoerr.New(mongoerr.CannotSplit, "a split point is a bound of the chunk %s -->> %s", p.Bound(chunk.Min), p.Bound(chunk.Max))
	}
	return cks.Split(coll, chunk, points)
}

// Split cuts a chunk at the given points, in ascending order: the shard's
// part, then the config server's (spec 02 §6.6).
func (cks Chunks) Split(coll catalog.Collection, chunk catalog.Chunk, points []catalog.Key) error {
	for _, point := range points {
		if err := coll.Pattern.CheckHashed(point); err != nil {
			return mongoerr.New(mongoerr.CannotSplit, "split failed :: caused by :: %s", err)
		}
	}
	if err := cks.c.faults.reach(configShard, chunk.Shard); err != nil {
		return err
	}
	return cks.commitSplit(coll, chunk.Shard, chunk.Min, chunk.Max, points)
}

// commitSplit writes the catalog and the change log
// (_configsvrCommitChunkSplit): coll is the collection as the shard knows it.
func (cks Chunks) commitSplit(known catalog.Collection, shard catalog.ShardID, min, max catalog.Key, points []catalog.Key) error {
	ns := known.Namespace
	coll, ok, err := cks.c.config.Tracked(ns)
	switch {
	case err != nil:
		return err
	case !ok:
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", ns)
	case coll.Unsplittable:
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case coll.Epoch != known.Epoch:
		return errStaleEpoch(ns)
	}
	table := cks.c.config.tables[ns]
	chunk := table.Find(min)
	switch {
	case !chunk.Min.Equal(min):
		return mongoerr.New(mongoerr.IncompatibleShardingMetadata, "no chunk of %s begins at %s", ns, coll.Pattern.Bound(min))
	case isSplit(table, shard, min, max, points):
		return nil // the request again
	case !chunk.Max.Equal(max) || chunk.Shard != shard:
		return mongoerr.New(mongoerr.BadValue, "no chunk of %s on shard %s has these bounds", ns, shard)
	}
	if err := checkSplitPoints(coll.Pattern, chunk, points); err != nil {
		return err
	}
	before := table.Version().ChunkVersion
	pieces := cks.commits().Split(table, chunk, points)
	if err := cks.c.config.putChunks(ns, pieces...); err != nil {
		return err
	}
	cks.logSplit(ns, table, chunk, pieces, before)
	return nil
}

// isSplit tells whether [min, max) of a shard is cut at exactly these points
// already.
func isSplit(table *catalog.RoutingTable, shard catalog.ShardID, min, max catalog.Key, points []catalog.Key) bool {
	bounds := append(slices.Clone(points), max)
	for _, bound := range bounds {
		chunk := table.Find(min)
		if chunk.Shard != shard || !chunk.Min.Equal(min) || !chunk.Max.Equal(bound) {
			return false
		}
		min = bound
	}
	return true
}

func checkSplitPoints(p catalog.KeyPattern, chunk catalog.Chunk, points []catalog.Key) error {
	last := chunk.Min
	for _, point := range points {
		if err := catalog.CheckStorable(p.Bound(point)); err != nil {
			return err
		}
		if point.Compare(last) <= 0 || point.Compare(chunk.Max) >= 0 {
			return mongoerr.New(mongoerr.InvalidOptions, "split points must be inside the chunk and strictly increasing")
		}
		last = point
	}
	return nil
}

func (cks Chunks) logSplit(ns string, table *catalog.RoutingTable, chunk catalog.Chunk, pieces []catalog.Chunk, version catalog.ChunkVersion) {
	before := bson.E{Key: "before", Value: chunkDoc(table, chunk, version)}
	owner := bson.E{Key: "owningShard", Value: string(chunk.Shard)}
	if len(pieces) == 2 {
		cks.c.log.change(configShard, "split", ns, bson.D{before,
			{Key: "left", Value: chunkDoc(table, pieces[0], pieces[0].Version)},
			{Key: "right", Value: chunkDoc(table, pieces[1], pieces[1].Version)},
			owner})
		return
	}
	for i, piece := range pieces {
		cks.c.log.change(configShard, "multi-split", ns, bson.D{before,
			{Key: "number", Value: int32(i + 1)},
			{Key: "of", Value: int32(len(pieces))},
			{Key: "chunk", Value: chunkDoc(table, piece, piece.Version)},
			owner})
	}
}
