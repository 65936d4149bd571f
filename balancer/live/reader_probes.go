package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// probeJumboChunks measures chunks with the jumbo flag, and reads their first and last key: a chunk
// with only one key can't be split.
func (r causeReader) probeJumboChunks(ctx context.Context, c *catalog.CollectionState) error {
	n := 0
	for chunk := range c.Table.JumboChunks() {
		if n++; n > r.probeLimits.chunks {
			return nil
		}
		documents, bytes, err := r.measureRange(ctx, c, chunk.Min, chunk.Max, maxProbedDocs)
		if err != nil {
			return err
		}
		size := catalog.ChunkSize{Min: chunk.Min, Bytes: bytes, Documents: documents}
		if size.First, err = r.extremeKey(ctx, c, chunk, 1); err != nil {
			return err
		}
		if size.Last, err = r.extremeKey(ctx, c, chunk, -1); err != nil {
			return err
		}
		c.ChunkSizes = append(c.ChunkSizes, size)
	}
	return nil
}

// probeZoneContents finds zone ranges that contain no document.
func (r causeReader) probeZoneContents(ctx context.Context, c *catalog.CollectionState) error {
	ranges := c.Zones.Ranges()
	for _, z := range ranges[:min(len(ranges), r.probeLimits.zones)] {
		documents, _, err := r.measureRange(ctx, c, z.Min, z.Max, 1)
		if err != nil {
			return err
		}
		if documents == 0 {
			c.EmptyZones = append(c.EmptyZones, z.Min)
		}
	}
	return nil
}

// measureRange measures a range. The servers stop counting after most documents.
func (r causeReader) measureRange(
	ctx context.Context, c *catalog.CollectionState, lower, upper catalog.Key, most int64,
) (documents, bytes int64, err error) {
	reply, err := r.askShards(ctx, "admin",
		dataSizeCommand(c.Namespace, c.Pattern, lower, upper, bson.E{Key: "maxObjects", Value: most}))
	if err != nil {
		return 0, 0, err
	}
	return integer(reply, "numObjects"), integer(reply, "size"), nil
}

// extremeKey returns the first or the last key of a chunk's documents; the zero Key if there is none,
// or if the shard key is hashed.
func (r causeReader) extremeKey(
	ctx context.Context, c *catalog.CollectionState, chunk catalog.Chunk, direction int,
) (catalog.Key, error) {
	db, name, err := catalog.SplitNamespace(c.Namespace)
	if err != nil {
		return catalog.Key{}, err
	}
	var order, fields bson.D
	elements, err := c.Pattern.Doc().Elements()
	if err != nil {
		return catalog.Key{}, err
	}
	for _, e := range elements {
		fields = append(fields, bson.E{Key: e.Key(), Value: 1})
	}
	fields = append(fields, bson.E{Key: "_id", Value: 0})
	for _, e := range elements {
		if e.Key() == "_id" {
			fields = fields[:len(fields)-1]
		}
		if indexKind(e.Value()) != "" { // find can't sort by a hash
			return catalog.Key{}, nil
		}
		order = append(order, bson.E{Key: e.Key(), Value: direction})
	}
	docs, err := r.listFromShards(ctx, firstShardTimeout, query{
		database: db, collection: name, filter: bson.D{}, sort: order, limit: 1, hint: c.Pattern.Doc(), projection: fields,
		lower: c.Pattern.Bound(chunk.Min), upper: c.Pattern.Bound(chunk.Max),
	})
	if err != nil || len(docs) == 0 {
		return catalog.Key{}, err
	}
	return c.Pattern.DocumentKey(docs[0])
}
