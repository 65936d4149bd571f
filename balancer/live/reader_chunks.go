package live

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// chunkBatch is the batch size of chunk reads: a batch has about 5 MB, and several batches are in
// memory at once.
const chunkBatch = 20_000

// readAllChunks reads all chunks of a collection. Chunks that the cursor has already returned may
// change before it ends. Therefore, the chunks that are newer than the newest chunk at the beginning
// are read again.
func (r *tableReading) readAllChunks(ctx context.Context, t *collectionRead) error {
	newest, err := r.newestVersion(ctx, t)
	if err != nil {
		return err
	}
	t.table, err = retryRead(ctx, func() (*catalog.RoutingTable, error) {
		builder := catalog.NewTableBuilder(t.Pattern, t.Epoch, t.Timestamp)
		q := findQuery("chunks", bson.D{t.ChunkFilter()}).sortedBy("min", 1).withBatchSize(chunkBatch)
		q.maxTime = tableTimeout
		n := 0
		err := r.source.each(ctx, q, func(doc bson.Raw) error {
			if n++; n%progressEveryChunks == 0 {
				r.progress.add(0, progressEveryChunks)
			}
			return builder.Add(doc)
		})
		if err != nil {
			return nil, err
		}
		r.progress.add(1, n%progressEveryChunks)
		return builder.Table()
	})
	if err != nil {
		return err
	}
	_, err = r.updateTable(ctx, t, newest)
	return err
}

// newestVersion returns the version of the collection's newest chunk.
func (r *tableReading) newestVersion(ctx context.Context, t *collectionRead) (catalog.ChunkVersion, error) {
	docs, err := r.source.list(ctx, findQuery("chunks", bson.D{t.ChunkFilter()}).sortedBy("lastmod", -1).withLimit(1))
	if err != nil {
		return catalog.ChunkVersion{}, err
	}
	if len(docs) == 0 {
		return catalog.ChunkVersion{}, mongoerr.New(mongoerr.ConflictingOperationInProgress, "%s has no chunks", t.Namespace)
	}
	chunk, err := catalog.ParseChunk(t.Pattern, docs[0])
	return chunk.Version, err
}

// updateTable reads the chunks with a version or a newer one, and reports whether the table already
// contained all of them. Chunks are sorted by version, so a chunk that changes during the read is
// returned again.
func (r *tableReading) updateTable(
	ctx context.Context, t *collectionRead, from catalog.ChunkVersion,
) (same bool, err error) {
	changed, err := r.readChunks(ctx, t.Pattern, findQuery("chunks", bson.D{t.ChunkFilter(),
		{Key: "lastmod", Value: bson.D{{Key: "$gte", Value: from.Timestamp()}}},
	}).sortedBy("lastmod", 1).withBatchSize(chunkBatch))
	if err != nil {
		return false, err
	}
	if len(changed) == 0 {
		return false, mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"%s no longer has a chunk of version %s or newer", t.Namespace, from)
	}
	changed = slices.DeleteFunc(changed, func(c catalog.Chunk) bool {
		old := t.table.Find(c.Min)
		return old.Version == c.Version && old.Min == c.Min
	})
	t.table, err = t.table.Apply(changed)
	return len(changed) == 0, err
}

// readChunks reads some chunks of a collection.
func (r *tableReading) readChunks(ctx context.Context, p catalog.KeyPattern, q query) ([]catalog.Chunk, error) {
	return retryRead(ctx, func() (list []catalog.Chunk, err error) {
		err = r.source.each(ctx, q, func(doc bson.Raw) error {
			chunk, err := catalog.ParseChunk(p, doc)
			list = append(list, chunk)
			return err
		})
		return list, err
	})
}

// readUnversioned reads data that change without a new version: jumbo flags, and the sizes that a
// defragmentation stores or removes (rules/02-migration-and-metadata §6.3). For that, the config server
// scans all chunks of the collection.
func (r *tableReading) readUnversioned(ctx context.Context, t *collectionRead) error {
	flagged, err := r.readChunks(ctx, t.Pattern, findQuery("chunks", bson.D{t.ChunkFilter(), {Key: "jumbo", Value: true}}))
	if err != nil {
		return err
	}
	changed := changedFlags(t.table, t.table.JumboChunks, flagged, func(c *catalog.Chunk) { c.Jumbo = catalog.JumboUnset })
	if t.table, err = t.table.Apply(changed); err != nil {
		return err
	}
	wasMeasured := false
	for range t.table.ChunksWithEstimate() {
		wasMeasured = true
		break
	}
	if !t.Defragment && !wasMeasured {
		return nil
	}
	measured, err := r.readChunks(ctx, t.Pattern, findQuery("chunks", bson.D{t.ChunkFilter(),
		{Key: "estimatedDataSizeBytes", Value: bson.D{{Key: "$gte", Value: int64(0)}}}}))
	if err != nil {
		return err
	}
	changed = changedFlags(t.table, t.table.ChunksWithEstimate, measured, func(c *catalog.Chunk) { c.Estimate = 0 })
	t.table, err = t.table.Apply(changed)
	return err
}

// changedFlags compares the chunks of a table that have a flag with those that have it now, and returns
// the chunks to change in the table. It skips chunks that are newer than the table, or not in it,
// because the next update reads them.
func changedFlags(
	t *catalog.RoutingTable, had func() iter.Seq[catalog.Chunk], has []catalog.Chunk, without func(*catalog.Chunk),
) []catalog.Chunk {
	var changed []catalog.Chunk
	still := make(map[catalog.Key]bool, len(has))
	for _, c := range has {
		still[c.Min] = true
		old := t.Find(c.Min)
		if old.Min != c.Min || old.Max != c.Max || old.Version != c.Version {
			continue
		}
		if old.Jumbo != c.Jumbo || old.Estimate != c.Estimate {
			changed = append(changed, c)
		}
	}
	for c := range had() {
		if !still[c.Min] {
			without(&c)
			changed = append(changed, c)
		}
	}
	return changed
}
