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

// Of how many collections one command reads the chunks, and how many chunks a collection may
// have for that: those of a larger one are not kept until its last chunk was read.
const (
	tablesTogether = 1000
	maxTogether    = 20_000
)

// refreshAll brings the tables of collections up to date, of many with each command.
func (r *tableReading) refreshAll(ctx context.Context, list []*collectionRead) error {
	var known, unknown, alone []*collectionRead
	for _, t := range list {
		if t.had() {
			known = append(known, t)
		}
	}
	if len(known) > 1 {
		if err := r.inBatches(ctx, known, r.updateTogether); err != nil {
			return err
		}
	}
	for _, t := range list {
		switch {
		case t.refused, t.had() && len(known) > 1:
		case t.had(), t.large:
			alone = append(alone, t)
		default:
			unknown = append(unknown, t)
		}
	}
	if len(unknown) > 1 {
		slices.SortFunc(unknown, func(a, b *collectionRead) int {
			return strings.Compare(ownerKey(a.Collection), ownerKey(b.Collection))
		})
		if err := r.inBatches(ctx, unknown, r.readTogether); err != nil {
			return err
		}
		unknown = slices.DeleteFunc(unknown, func(t *collectionRead) bool { return !t.large })
	}
	return inParallel(ctx, r.options.Parallel, append(alone, unknown...), r.refresh)
}

// inBatches calls read for some collections at a time.
func (r *tableReading) inBatches(
	ctx context.Context, list []*collectionRead, read func(context.Context, []*collectionRead) error,
) error {
	batches := slices.Collect(slices.Chunk(list, tablesTogether))
	return inParallel(ctx, r.options.Parallel, batches, func(ctx context.Context, batch []*collectionRead) error {
		err := read(ctx, batch)
		if err == nil {
			return nil
		}
		for _, t := range batch { // they were refused, or the read ends
			t.older, t.settled = false, false
			if err := r.failed(ctx, t, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// readTogether reads all chunks of collections, which are sorted by what tells their chunks.
func (r *tableReading) readTogether(ctx context.Context, batch []*collectionRead) error {
	for len(batch) > 0 {
		rest, err := onceMore(ctx, func() ([]*collectionRead, error) { return r.readUntilLarge(ctx, batch) })
		if err != nil {
			return err
		}
		batch = rest
	}
	return nil
}

// errLarge ends a read at a collection that has too many chunks to read it with others.
var errLarge = errors.New("too many chunks")

// readUntilLarge reads all chunks of collections up to the first that is too large, and
// returns those after it. In the order of versions a chunk that changes during the read
// comes again, and the newer one counts.
func (r *tableReading) readUntilLarge(
	ctx context.Context, batch []*collectionRead,
) (rest []*collectionRead, err error) {
	byOwner := make(map[string]int, len(batch))
	field, ids := batch[0].ChunkFilter().Key, make(bson.A, len(batch))
	for i, t := range batch {
		byOwner[ownerKey(t.Collection)], ids[i] = i, t.ChunkFilter().Value
	}
	g := chunkBuffer{tableReading: r, batch: batch, at: -1}
	q := find("chunks", bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: ids}}}}).
		sorted(field, 1).sorted("lastmod", 1).batched(chunkBatch)
	q.most = tableWait
	err = r.source.each(ctx, q, func(doc bson.Raw) error {
		i, known := byOwner[ownerOf(doc)]
		if !known {
			return nil
		}
		return g.add(ctx, i, doc)
	})
	if errors.Is(err, errLarge) {
		batch[g.at].large = true
		return batch[g.at+1:], g.pass(ctx, g.at)
	}
	if err == nil {
		err = g.pass(ctx, len(batch))
	}
	return nil, err
}

// chunkBuffer are the chunks of the collection that a read is at.
type chunkBuffer struct {
	*tableReading
	batch  []*collectionRead
	at     int // in batch; -1 before the first
	chunks []catalog.Chunk
	bad    error // a chunk makes no sense
}

// add takes a chunk of a collection.
func (g *chunkBuffer) add(ctx context.Context, i int, doc bson.Raw) error {
	if i != g.at {
		if err := g.pass(ctx, i); err != nil {
			return err
		}
	}
	if len(g.chunks) == maxTogether {
		g.chunks = nil
		g.told.add(0, -maxTogether) // they are read again
		return errLarge
	}
	chunk, err := catalog.ParseChunk(g.batch[i].Pattern, doc)
	if err != nil {
		g.bad = err
	}
	g.chunks = append(g.chunks, chunk)
	if len(g.chunks)%someChunks == 0 {
		g.told.add(0, someChunks)
	}
	return nil
}

// pass makes the table of the collection that the read was at, and goes on to another one.
// Collections between them have no chunks.
func (g *chunkBuffer) pass(ctx context.Context, next int) error {
	for i := max(g.at, 0); i < next; i++ {
		t, err := g.batch[i], g.bad
		if t.large {
			continue
		}
		if i != g.at {
			g.chunks = nil
		}
		if len(g.chunks) == 0 {
			err = mongoerr.New(mongoerr.ConflictingOperationInProgress, "%s has no chunks", t.Namespace)
		}
		if err == nil {
			t.table, err = catalog.NewRoutingTableUnsorted(t.Pattern, t.Epoch, t.Timestamp, g.chunks)
			g.outline(t)
		}
		t.older, t.settled, g.bad = false, false, nil
		if err := g.failed(ctx, t, err); err != nil {
			return err
		}
	}
	g.told.add(next-max(g.at, 0), len(g.chunks)%someChunks)
	g.at, g.chunks, g.bad = next, g.chunks[:0], nil
	return nil
}

// updateTogether reads the chunks of collections that are newer than their tables, and notes
// whether there are some. Each alternative has bounds in an index of its own.
func (r *tableReading) updateTogether(ctx context.Context, batch []*collectionRead) error {
	either := make(bson.A, len(batch))
	for i, t := range batch {
		either[i] = bson.D{t.ChunkFilter(),
			{Key: "lastmod", Value: bson.D{{Key: "$gt", Value: t.version().Timestamp()}}}}
	}
	docs, err := r.source.list(ctx, find("chunks", bson.D{{Key: "$or", Value: either}}).batched(chunkBatch))
	if err != nil {
		return err
	}
	byOwner := ownersOf(docs)
	for _, t := range batch {
		changed, err := parseChunks(t.Collection, byOwner[ownerKey(t.Collection)])
		switch {
		case err == nil && t.outline == nil:
			t.table, err = t.table.Apply(changed)
		case len(changed) > 0:
			t.outline = nil // it is read again
		}
		if err == nil && t.older && r.reads(Flags) {
			err = r.flags(ctx, t)
		}
		t.older, t.settled = false, len(changed) == 0
		if err := r.failed(ctx, t, err); err != nil {
			return err
		}
	}
	return nil
}

// chooses reports whether the tables of only some collections are read.
func (r *reading) chooses() bool { return r.options.Tabled != nil && r.reads(Counts) }

// chosenTables reads the tables of the collections that Tabled selects.
func (r *tableReading) chosenTables(ctx context.Context) error {
	if !r.chooses() || r.options.Outlined != nil {
		return nil
	}
	return r.choose(ctx)
}

func (r *tableReading) choose(ctx context.Context) error {
	seen := r.parts
	seen.Source.Gaps = r.gaps
	seen.Collections = slices.Clone(seen.Collections)
	so := catalog.NewSnapshot(seen)
	r.only, r.outlines = map[string]bool{}, outlines{so, map[string]*catalog.CollectionState{}}
	for _, c := range so.Collections() {
		r.outlines.of[c.Namespace] = c
		if r.options.Tabled(so, c) {
			r.only[c.Namespace] = true
		}
	}
	if len(r.only) == 0 {
		return nil
	}
	return r.tables(ctx)
}
