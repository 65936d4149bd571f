package live

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// chunkBatch has servers fill their replies of 16 MiB.
const chunkBatch = 1 << 20

// readAll reads all chunks of a collection. As chunks that the cursor has passed
// may change before it ends, those newer than what was newest at the beginning
// are read again.
func (r *reading) readAll(ctx context.Context, t *tracked) error {
	newest, err := r.newest(ctx, t)
	if err != nil {
		return err
	}
	t.table, err = onceMore(ctx, func() (*catalog.RoutingTable, error) {
		cursor, err := r.config.Collection("chunks").Find(ctx, bson.D{t.ChunkFilter()},
			options.Find().SetSort(bson.D{{Key: "min", Value: 1}}).SetBatchSize(chunkBatch))
		if err != nil {
			return nil, err
		}
		builder := catalog.NewBuilder(t.Pattern, t.Epoch, t.Timestamp)
		if err := each(ctx, cursor, builder.Add); err != nil {
			return nil, err
		}
		return builder.Table()
	})
	if err != nil {
		return err
	}
	_, err = r.update(ctx, t, newest)
	return err
}

// newest returns the version of the collection's newest chunk.
func (r *reading) newest(ctx context.Context, t *tracked) (catalog.ChunkVersion, error) {
	docs, err := r.documents(ctx, "chunks", bson.D{t.ChunkFilter()},
		options.Find().SetSort(bson.D{{Key: "lastmod", Value: -1}}).SetLimit(1))
	if err != nil {
		return catalog.ChunkVersion{}, err
	}
	if len(docs) == 0 {
		return catalog.ChunkVersion{}, mongoerr.New(mongoerr.ConflictingOperationInProgress, "%s has no chunks", t.Namespace)
	}
	chunk, err := catalog.ParseChunk(t.Pattern, docs[0])
	return chunk.Version, err
}

// update reads the chunks with a version or a newer one, and reports whether
// the table had them all. The order has a server meet again, at their new
// place, those that change while it goes through them.
func (r *reading) update(ctx context.Context, t *tracked, from catalog.ChunkVersion) (same bool, err error) {
	changed, err := r.chunks(ctx, t, bson.E{Key: "lastmod", Value: bson.D{{Key: "$gte", Value: from.Timestamp()}}},
		options.Find().SetSort(bson.D{{Key: "lastmod", Value: 1}}).SetBatchSize(chunkBatch))
	if err != nil {
		return false, err
	}
	if len(changed) == 0 {
		return false, mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"%s has no chunk of version %s or newer any more", t.Namespace, from)
	}
	changed = slices.DeleteFunc(changed, func(c catalog.Chunk) bool {
		old := t.table.Find(c.Min)
		return old.Version == c.Version && old.Min == c.Min
	})
	t.table, err = t.table.Apply(changed)
	return len(changed) == 0, err
}

// chunks reads some chunks of a collection.
func (r *reading) chunks(ctx context.Context, t *tracked, which bson.E,
	opts ...options.Lister[options.FindOptions]) ([]catalog.Chunk, error) {
	return onceMore(ctx, func() (list []catalog.Chunk, err error) {
		cursor, err := r.config.Collection("chunks").Find(ctx, bson.D{t.ChunkFilter(), which}, opts...)
		if err != nil {
			return nil, err
		}
		err = each(ctx, cursor, func(doc bson.Raw) error {
			chunk, err := catalog.ParseChunk(t.Pattern, doc)
			list = append(list, chunk)
			return err
		})
		return list, err
	})
}

// flags looks for what changes without a version: chunks that were flagged jumbo
// (or unflagged by hand), and sizes that a defragmentation noted or took away
// (rules/02-migration-and-metadata §6.3).
func (r *reading) flags(ctx context.Context, t *tracked) error {
	flagged, err := r.chunks(ctx, t, bson.E{Key: "jumbo", Value: true})
	if err != nil {
		return err
	}
	changed := differing(t.table, t.table.Flagged, flagged, func(c *catalog.Chunk) { c.Jumbo = catalog.JumboUnset })
	if t.table, err = t.table.Apply(changed); err != nil {
		return err
	}
	wasMeasured := false
	for range t.table.Measured() {
		wasMeasured = true
		break
	}
	if !t.Defragment && !wasMeasured {
		return nil
	}
	measured, err := r.chunks(ctx, t, bson.E{Key: "estimatedDataSizeBytes", Value: bson.D{{Key: "$gte", Value: int64(0)}}})
	if err != nil {
		return err
	}
	changed = differing(t.table, t.table.Measured, measured, func(c *catalog.Chunk) { c.Estimate = 0 })
	t.table, err = t.table.Apply(changed)
	return err
}
