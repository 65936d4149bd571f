package live

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// maxTablesPerBatch is the maximum number of collections whose chunks one command reads. The constant
// below is the maximum number of chunks of a collection for that, since the chunks of a larger
// collection should not be kept in memory until the last one is read.
const (
	maxTablesPerBatch = 1000
	maxBatchedChunks  = 20_000
)

// refreshAll updates the tables of collections, of many collections with each command.
func (r *tableReading) refreshAll(ctx context.Context, list []*collectionRead) error {
	var known, unknown, alone []*collectionRead
	for _, t := range list {
		if t.chunksWereRead() {
			known = append(known, t)
		}
	}
	if len(known) > 1 {
		if err := r.readInBatches(ctx, known, r.updateBatch); err != nil {
			return err
		}
	}
	for _, t := range list {
		switch {
		case t.refused, t.chunksWereRead() && len(known) > 1:
		case t.chunksWereRead(), t.tooLarge:
			alone = append(alone, t)
		default:
			unknown = append(unknown, t)
		}
	}
	if len(unknown) > 0 {
		slices.SortFunc(unknown, func(a, b *collectionRead) int {
			return strings.Compare(collectionID(a.Collection), collectionID(b.Collection))
		})
		if err := r.readInBatches(ctx, unknown, r.readBatch); err != nil {
			return err
		}
		unknown = slices.DeleteFunc(unknown, func(t *collectionRead) bool { return !t.tooLarge })
	}
	return inParallel(ctx, r.options.Parallel, append(alone, unknown...), r.refresh)
}

// readInBatches calls read with some collections at a time.
func (r *tableReading) readInBatches(
	ctx context.Context, list []*collectionRead, read func(context.Context, []*collectionRead) error,
) error {
	batches := slices.Collect(slices.Chunk(list, maxTablesPerBatch))
	return inParallel(ctx, r.options.Parallel, batches, func(ctx context.Context, batch []*collectionRead) error {
		err := read(ctx, batch)
		if err == nil {
			return nil
		}
		for _, t := range batch { // the server has refused the read, or the read ends
			t.fromOldSnapshot, t.unchanged = false, false
			if err := r.handleFailure(ctx, t, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// readBatch reads all chunks of collections, which are sorted by UUID or namespace.
func (r *tableReading) readBatch(ctx context.Context, batch []*collectionRead) error {
	for len(batch) > 0 {
		rest, err := retryRead(ctx, func() ([]*collectionRead, error) { return r.readUntilLarge(ctx, batch) })
		if err != nil {
			return err
		}
		batch = rest
	}
	return nil
}

// errTooManyChunks ends a read at a collection that has too many chunks to be read together with
// others.
var errTooManyChunks = errors.New("too many chunks")

// readUntilLarge reads all chunks of collections up to the first collection that is too large, and
// returns the collections after it. Chunks are read in the order of versions, so a chunk that changes
// during the read is returned again, and the newer version is used.
func (r *tableReading) readUntilLarge(
	ctx context.Context, batch []*collectionRead,
) (rest []*collectionRead, err error) {
	byOwner := make(map[string]int, len(batch))
	field, ids := batch[0].ChunkFilter().Key, make(bson.A, len(batch))
	for i, t := range batch {
		byOwner[collectionID(t.Collection)], ids[i] = i, t.ChunkFilter().Value
	}
	g := chunkBuffer{tableReading: r, batch: batch, current: -1}
	q := findQuery("chunks", bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: ids}}}}).
		sortedBy(field, 1).sortedBy("lastmod", 1).withBatchSize(chunkBatch)
	q.maxTime = tableTimeout
	err = r.source.each(ctx, q, func(doc bson.Raw) error {
		i, known := byOwner[chunkCollectionID(doc)]
		if !known {
			return nil
		}
		return g.add(ctx, i, doc)
	})
	if errors.Is(err, errTooManyChunks) {
		batch[g.current].tooLarge = true
		return batch[g.current+1:], g.finishUntil(ctx, g.current)
	}
	if err == nil {
		err = g.finishUntil(ctx, len(batch))
	}
	return nil, err
}

// chunkBuffer buffers the chunks of the collection that is being read.
type chunkBuffer struct {
	*tableReading
	batch    []*collectionRead
	current  int // index in batch; -1 before the first collection
	chunks   []catalog.Chunk
	parseErr error // a chunk is invalid
}

// add adds a chunk of a collection.
func (c *chunkBuffer) add(ctx context.Context, i int, doc bson.Raw) error {
	if i != c.current {
		if err := c.finishUntil(ctx, i); err != nil {
			return err
		}
	}
	if len(c.chunks) == maxBatchedChunks {
		c.chunks = nil
		c.progress.add(0, -maxBatchedChunks) // they are read again
		return errTooManyChunks
	}
	chunk, err := catalog.ParseChunk(c.batch[i].Pattern, doc)
	if err != nil {
		c.parseErr = err
	}
	c.chunks = append(c.chunks, chunk)
	if len(c.chunks)%progressEveryChunks == 0 {
		c.progress.add(0, progressEveryChunks)
	}
	return nil
}

// finishUntil builds the table of the current collection and moves on to the next one.
// Collections between them have no chunks.
func (c *chunkBuffer) finishUntil(ctx context.Context, next int) error {
	for i := max(c.current, 0); i < next; i++ {
		t, err := c.batch[i], c.parseErr
		if t.tooLarge {
			continue
		}
		if i != c.current {
			c.chunks = nil
		}
		if len(c.chunks) == 0 {
			err = mongoerr.New(mongoerr.ConflictingOperationInProgress, "%s has no chunks", t.Namespace)
		}
		if err == nil {
			t.table, err = catalog.NewRoutingTableUnsorted(t.Pattern, t.Epoch, t.Timestamp, c.chunks)
			c.outlineTable(t)
		}
		t.fromOldSnapshot, t.unchanged, c.parseErr = false, false, nil
		if err := c.handleFailure(ctx, t, err); err != nil {
			return err
		}
	}
	c.progress.add(next-max(c.current, 0), len(c.chunks)%progressEveryChunks)
	c.current, c.chunks, c.parseErr = next, c.chunks[:0], nil
	return nil
}

// updateBatch reads the chunks of collections that are newer than their tables, and records whether
// there are any. Each alternative of the filter has its own index bounds.
func (r *tableReading) updateBatch(ctx context.Context, batch []*collectionRead) error {
	either := make(bson.A, len(batch))
	for i, t := range batch {
		either[i] = bson.D{t.ChunkFilter(),
			{Key: "lastmod", Value: bson.D{{Key: "$gt", Value: t.version().Timestamp()}}}}
	}
	docs, err := r.source.list(ctx, findQuery("chunks", bson.D{{Key: "$or", Value: either}}).withBatchSize(chunkBatch))
	if err != nil {
		return err
	}
	byOwner := groupByCollection(docs)
	for _, t := range batch {
		changed, err := parseChunks(t.Collection, byOwner[collectionID(t.Collection)])
		switch {
		case err == nil && t.outline == nil:
			t.table, err = t.table.Apply(changed)
		case len(changed) > 0:
			t.outline = nil // the collection is read again
		}
		if err == nil && t.fromOldSnapshot && r.wants(ChunkFlags) {
			err = r.readUnversioned(ctx, t)
		}
		t.fromOldSnapshot, t.unchanged = false, len(changed) == 0
		if err := r.handleFailure(ctx, t, err); err != nil {
			return err
		}
	}
	return nil
}

// selectsTables reports whether only the tables of some collections are read.
func (r *reading) selectsTables() bool { return r.options.WantsTable != nil && r.wants(ChunkCounts) }

// readSelectedTables reads the tables of the collections that WantsTable selects.
func (r *tableReading) readSelectedTables(ctx context.Context) error {
	if !r.selectsTables() || r.options.WantsOutline != nil {
		return nil
	}
	return r.selectAndReadTables(ctx)
}

func (r *tableReading) selectAndReadTables(ctx context.Context) error {
	seen := r.parts
	seen.Source.Gaps = r.gaps
	seen.Collections = slices.Clone(seen.Collections)
	so := catalog.NewSnapshot(seen)
	r.wantedTables, r.beforeTables = map[string]bool{}, knownCollections{so, map[string]*catalog.CollectionState{}}
	for _, c := range so.Collections() {
		r.beforeTables.collections[c.Namespace] = c
		if r.options.WantsTable(so, c) {
			r.wantedTables[c.Namespace] = true
		}
	}
	if len(r.wantedTables) == 0 {
		return nil
	}
	return r.readTables(ctx)
}
