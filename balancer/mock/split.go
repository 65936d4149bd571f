package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Split cuts the chunk that begins at min at the given points, in ascending
// order, and writes the catalog and the change log (spec 02 §6.6).
func (c *Cluster) Split(coll catalog.Collection, chunk catalog.Chunk, points []catalog.Key) error {
	table := c.tables[coll.Namespace]
	if table == nil {
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", coll.Namespace)
	}
	if err := checkSplitPoints(coll.Pattern, chunk, points); err != nil {
		return err
	}
	if err := c.reach(configShard, chunk.Shard); err != nil {
		return err
	}
	before := table.Version().ChunkVersion
	pieces := c.pieces(chunk, points, before)
	if err := c.putChunks(coll.Namespace, pieces...); err != nil {
		return err
	}
	c.logSplit(coll.Namespace, table, chunk, pieces, before)
	return nil
}

func checkSplitPoints(p catalog.KeyPattern, chunk catalog.Chunk, points []catalog.Key) error {
	last := chunk.Min
	for _, point := range points {
		if err := p.CheckHashed(point); err != nil {
			return mongoerr.New(mongoerr.CannotSplit, "split failed :: caused by :: %s", err)
		}
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

// pieces are the chunks a split makes: the first keeps the id, every one gets
// the next minor version and an explicit jumbo: false (spec 02 §6.3, §6.4).
func (c *Cluster) pieces(chunk catalog.Chunk, points []catalog.Key, version catalog.ChunkVersion) []catalog.Chunk {
	bounds := append(slices.Clone(points), chunk.Max)
	pieces := make([]catalog.Chunk, 0, len(bounds))
	min := chunk.Min
	for i, max := range bounds {
		piece := chunk
		piece.Min, piece.Max = min, max
		version.Minor++
		piece.Version = version
		if c.release != catalog.Release50 {
			piece.Jumbo = catalog.JumboFalse // 5.0 keeps the flag (spec 01 §10.2)
		}
		piece.Estimate = 0
		if i > 0 {
			piece.ID = c.NewObjectID()
		}
		pieces = append(pieces, piece)
		min = max
	}
	return pieces
}

func (c *Cluster) logSplit(ns string, table *catalog.RoutingTable, chunk catalog.Chunk, pieces []catalog.Chunk, version catalog.ChunkVersion) {
	before := bson.E{Key: "before", Value: chunkDoc(table, chunk, version)}
	owner := bson.E{Key: "owningShard", Value: string(chunk.Shard)}
	if len(pieces) == 2 {
		c.logChange(configShard, "split", ns, bson.D{before,
			{Key: "left", Value: chunkDoc(table, pieces[0], pieces[0].Version)},
			{Key: "right", Value: chunkDoc(table, pieces[1], pieces[1].Version)},
			owner})
		return
	}
	for i, piece := range pieces {
		c.logChange(configShard, "multi-split", ns, bson.D{before,
			{Key: "number", Value: int32(i + 1)},
			{Key: "of", Value: int32(len(pieces))},
			{Key: "chunk", Value: chunkDoc(table, piece, piece.Version)},
			owner})
	}
}
